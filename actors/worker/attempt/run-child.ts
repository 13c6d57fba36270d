import { GIVEN_BACK, type Lease, type Outcome } from '../../../machines/attempt/attempt.ts';
import { isPrediction, libraryOf } from '../../../machines/schema/job-types.ts';
import { outcomeOf } from '../child/ending.ts';
import { Output } from '../child/output.ts';
import { TAG_VARIABLE } from '../child/process-tree.ts';
import { type ChildEnd, type Leader, runGroup } from '../child/run-group.ts';
import type { Runner } from '../config.ts';
import { probeDisk } from '../disk.ts';
import { WorkerError } from '../errors.ts';
import { sleep } from '../link/backoff.ts';
import { wrongWith } from '../runners/wrong-with.ts';
import type { WarmRunner } from '../warm/warm-runner.ts';
import type { Order } from '../warm/wire.ts';
import type { WorkerContext } from '../worker-context.ts';
import type { AttemptDirectory } from './attempt-directory.ts';
import { failedBy, ownError } from './failure.ts';

/** Runs the analysis of an attempt in a child process, and says how it went. Rejects only once it is given up. */
export async function runChild(shared: WorkerContext, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  const directory = shared.directory(lease.ref);
  const { paths, tag } = directory;
  const library = libraryOf(lease.payload.type);
  const output = new Output(directory.log, directory.events);
  const { cgroups } = shared.reaper;
  let group: number | undefined;
  try {
    const runner = runnerFor(shared.settings.runners, lease.payload);
    const [command, ...args] = runner.command;
    const warm = shared.warm(runner);
    const files = shared.filesOf(library);
    const looks = await files?.look();
    const options = [
      ...['--task-file', paths.spec, '--workspace', paths.workspace],
      ...['--output-dir', paths.output, '--result-file', paths.result],
    ];
    const end = await runGroup({
      command: command as string,
      args: [...args, ...options],
      cwd: paths.workspace,
      env: shared.environment,
      tag,
      cgroups,
      ...(warm && { fork: () => forked(shared, directory, warm, options, signal) }),
      graceMs: shared.settings.graceSeconds * 1000,
      signal,
      onSpawn: (pid) => {
        group = pid;
        shared.reaper.watch(pid);
        directory.leads(pid);
      },
      stdout: (stream) => output.stdout(stream),
      stderr: (stream) => output.stderr(stream),
    });
    await warm?.learn(paths.base, paths.learned);
    if (end.survivors.length > 0) {
      directory.note(`these processes hang in the kernel and cannot be ended: ${end.survivors.join(', ')}`);
    }
    const outcome = await outcomeOf({
      end,
      file: { path: paths.result, base: paths.base },
      errorText: output.errorText,
      fingerprints: directory.fingerprints,
      library: { name: library, version: runner.packages[library] },
      ownFault: (wasFine) => ownFaultOf(shared, directory, runner, wasFine, signal),
    });
    if (outcome.verb === 'complete' && looks) files?.worked(looks);
    if (outcome.verb === 'fail' && isEndedFromOutside(end) && (await isToldToEnd(shared, signal))) {
      return { verb: 'fail', failure: GIVEN_BACK };
    }
    // Another worker may have a runner that can.
    if (lease.payload.expand && outcome.verb === 'complete' && outcome.result.variants === undefined) {
      throw new WorkerError(`the runner for ${library}.run here lists no variants of a pipeline`);
    }
    return outcome;
  } catch (error) {
    if (signal.aborted) throw error;
    return failedBy(error);
  } finally {
    if (group !== undefined) shared.reaper.release(group);
  }
}

/** Signals that end whatever belongs to a worker, and how shells tell that these ended what they ran. */
const ENDING_SIGNALS: ReadonlySet<unknown> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 143, 130, 129]);

const isEndedFromOutside = ({ signal, code }: ChildEnd): boolean => ENDING_SIGNALS.has(signal ?? code);

/** For which a signal to all processes may reach the child sooner than this program. */
const SOONER_MS = 1_000;

/**
 * Whether this program has to end, too: who ends a machine's processes, as Slurm does, sends the signal to all of them
 * at once.
 */
async function isToldToEnd({ toldToEnd }: WorkerContext, signal: AbortSignal): Promise<boolean> {
  if (!toldToEnd.signal.aborted) {
    await sleep(SOONER_MS, AbortSignal.any([toldToEnd.signal, signal])).catch(() => signal.throwIfAborted());
  }
  return toldToEnd.signal.aborted;
}

/** An attempt in a fork of its runner's warm host; null where it has to start cold, as its log says. */
async function forked(
  { reaper: { cgroups } }: WorkerContext,
  directory: AttemptDirectory,
  warm: WarmRunner,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Leader | null> {
  const { paths, tag } = directory;
  const order: Order = {
    args,
    cwd: paths.workspace,
    env: { [TAG_VARIABLE]: tag },
    stdout: paths.stdout,
    stderr: paths.stderr,
    cell: cgroups?.prepare(tag) ?? null,
    learn: paths.learned,
  };
  const answer = await warm.fork(order, signal);
  if ('leader' in answer) return answer.leader;
  directory.note(`started cold: ${answer.cold}`);
  return null;
}

function runnerFor(runners: readonly Runner[], { type }: Lease['payload']): Runner {
  const runner = runners.find(({ library }) => library === libraryOf(type));
  if (!runner || runner.command.length === 0 || (isPrediction(type) && !runner.predicts)) {
    throw new WorkerError(`this worker has no runner for ${type}`);
  }
  return runner;
}

/** What this worker finds wrong with itself after a child that has not succeeded. @param wasFine see `EndedChild` */
async function ownFaultOf(
  shared: WorkerContext,
  directory: AttemptDirectory,
  runner: Runner,
  wasFine: boolean,
  signal: AbortSignal,
): Promise<WorkerError | null> {
  const files = shared.filesOf(runner.library);
  const broken = await files?.broken(!wasFine);
  if (broken) return broken;
  if (directory.log.broken !== null) return ownError(directory.log.broken);
  // Not in the attempt's directory, which the task may have removed.
  const ofDisk = await probeDisk(shared.settings.state).then(() => null, ownError);
  const known = ofDisk ?? (await files?.changed()) ?? null;
  if (known !== null || !wasFine) return known;
  const wrong = await wrongWith(runner, files, signal);
  signal.throwIfAborted();
  return wrong === null ? null : new WorkerError(`this worker cannot run tasks: ${wrong}`, { own: true });
}
