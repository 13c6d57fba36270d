import { libraryOf } from '../../machines/decompose.ts';
import type { Lease, Outcome } from '../../machines/run.ts';
import { outcomeOf } from './child/ending.ts';
import { MARK } from './child/family.ts';
import { type Leader, runGroup } from './child/group.ts';
import { markProcess } from './child/leftovers.ts';
import { Output } from './child/output.ts';
import type { Runner } from './config.ts';
import { probeDisk } from './disk.ts';
import { failedBy, ownFault, WorkerFault } from './failure.ts';
import type { Room } from './room.ts';
import { missingPart } from './runners/parts.ts';
import type { WarmRunner } from './warm/warm-runner.ts';
import type { Order } from './warm/wire.ts';
import type { Workshop } from './workshop.ts';

/** Runs the analysis of an attempt in a child process, and says how it went. Rejects only once it is given up. */
export async function runChild(shop: Workshop, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  const room = shop.room(lease.ref);
  const { paths, mark } = room;
  const library = libraryOf(lease.payload.type);
  const output = new Output(room.log, room.events);
  const { cells } = shop.guard;
  let group: number | undefined;
  try {
    const runner = runnerFor(shop.settings.runners, library);
    const [command, ...args] = runner.command;
    const warm = shop.warm(runner);
    const options = [
      ...['--task-file', paths.spec, '--workspace', paths.workspace],
      ...['--output-dir', paths.output, '--result-file', paths.result],
    ];
    markProcess(paths.process, mark, cells);
    const end = await runGroup({
      command: command as string,
      args: [...args, ...options],
      cwd: paths.workspace,
      env: shop.environment,
      mark,
      cells,
      ...(warm && { fork: () => forked(shop, room, warm, options, signal) }),
      graceMs: shop.settings.graceSeconds * 1000,
      signal,
      onSpawn: (pid) => {
        group = pid;
        shop.guard.watch(pid);
        markProcess(paths.process, mark, cells, pid);
      },
      stdout: (stream) => output.stdout(stream),
      stderr: (stream) => output.stderr(stream),
    });
    await warm?.learn(paths.base, paths.learned);
    if (end.survivors.length > 0) {
      room.note(`these processes hang in the kernel and cannot be ended: ${end.survivors.join(', ')}`);
    }
    const outcome = await outcomeOf({
      end,
      file: { path: paths.result, base: paths.base },
      errorText: output.errorText,
      fingerprints: room.fingerprints,
      library: { name: library, version: runner.packages[library] },
      ownFault: () => ownFaultOf(shop, room, library),
    });
    // Another worker may have a runner that can.
    if (lease.payload.expand && outcome.verb === 'complete' && outcome.result.variants === undefined) {
      throw new WorkerFault(`the runner for ${library}.run here lists no variants of a pipeline`);
    }
    return outcome;
  } catch (fault) {
    if (signal.aborted) throw fault;
    return failedBy(fault);
  } finally {
    if (group !== undefined) shop.guard.release(group);
  }
}

/** An attempt in a fork of its runner's warm host; null where it has to start cold, as its log says. */
async function forked(
  { guard: { cells } }: Workshop,
  room: Room,
  warm: WarmRunner,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Leader | null> {
  const { paths, mark } = room;
  const order: Order = {
    args,
    cwd: paths.workspace,
    env: { [MARK]: mark },
    stdout: paths.stdout,
    stderr: paths.stderr,
    cell: cells?.prepare(mark) ?? null,
    learn: paths.learned,
  };
  const answer = await warm.fork(order, signal);
  if ('leader' in answer) return answer.leader;
  room.note(`started cold: ${answer.cold}`);
  return null;
}

function runnerFor(runners: readonly Runner[], library: string): Runner {
  const runner = runners.find((r) => r.library === library);
  if (!runner || runner.command.length === 0) {
    throw new WorkerFault(`this worker has no runner for ${library}.run`);
  }
  return runner;
}

/** What this worker finds wrong with itself after a child that has not succeeded. */
async function ownFaultOf(shop: Workshop, room: Room, library: string): Promise<WorkerFault | null> {
  const gone = await missingPart(shop.partsOf(library));
  if (gone !== null) return gone;
  if (room.log.broken !== null) return ownFault(room.log.broken);
  return probeDisk(room.paths.root).then(() => null, ownFault);
}
