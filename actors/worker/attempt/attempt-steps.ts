import { fromPromise } from 'xstate';
import {
  type AttemptRef,
  attemptMachine,
  type Failed,
  type Lease,
  type Outcome,
  type ReportOutcome,
} from '../../../machines/attempt/attempt.ts';
import { isGivenBack, isNotOurs, report, type Uploaded, uploadFiles } from '../delivery/deliver.ts';
import { findOutputs, type OutputFile } from '../delivery/outputs.ts';
import { pack } from '../delivery/pack.ts';
import { LONG_REPORT } from '../delivery/reports.ts';
import { WorkerError } from '../errors.ts';
import type { Held } from '../inputs/cache/cache.ts';
import { materialize } from '../inputs/materialize.ts';
import { sleep } from '../link/backoff.ts';
import { isAbort } from '../link/link-errors.ts';
import { persist } from '../link/persist.ts';
import type { WorkerContext } from '../worker-context.ts';
import type { AttemptDirectory } from './attempt-directory.ts';
import { failedBy } from './failure.ts';
import { runChild } from './run-child.ts';

/** Node's timers overflow beyond 2^31 ms and then fire at once. */
const LONGEST_SLEEP_MS = 2_000_000_000;

/** Beyond the grace period: what has not ended by then hangs in the kernel. */
const HANGING_SECONDS = 30;

/** The statechart of an attempt with its impure steps: HTTP, files, processes. */
export function attemptLogic(shared: WorkerContext) {
  return attemptMachine.provide({
    actors: {
      reportStart: fromPromise<ReportOutcome | Failed, Lease>(({ input, signal }) =>
        reportStart(shared, input.ref, signal),
      ),
      materialize: fromPromise<Failed | null, Lease>(({ input, signal }) =>
        shared.directory(input.ref).work(placeInputs(shared, input, signal)),
      ),
      deadline: fromPromise<void, number | null>(({ input, signal }) => untilDeadline(shared, input, signal)),
      runChild: fromPromise<Outcome, Lease>(({ input, signal }) =>
        shared.directory(input.ref).work(runOnInputs(shared, input, signal)),
      ),
      stopWork: fromPromise<void, AttemptRef>(({ input }) => stopWork(shared, input)),
      save: fromPromise<void, { ref: AttemptRef; outcome: Outcome; lease: Lease | null }>(({ input }) =>
        save(shared, input.ref, input.outcome, input.lease),
      ),
      upload: fromPromise<Uploaded, AttemptRef>(({ input, signal }) => upload(shared, input, signal)),
      report: fromPromise<ReportOutcome, Report>(({ input, signal }) => deliverReport(shared, input, signal)),
      clean: fromPromise<void, AttemptRef>(({ input }) => clean(shared, input)),
    },
    delays: { longestStop: (shared.settings.graceSeconds + HANGING_SECONDS) * 1000 },
  });
}

async function reportStart(
  shared: WorkerContext,
  ref: AttemptRef,
  signal: AbortSignal,
): Promise<ReportOutcome | Failed> {
  try {
    await shared.directory(ref).open();
    await shared.wake.asked(signal);
    await persist(
      'start',
      () => shared.reports.send({ type: 'start', ...ref }, signal),
      shared.persistence(ref, signal),
    );
    return 'accepted';
  } catch (error) {
    if (signal.aborted) throw error;
    if (!isNotOurs(error)) return failedBy(error);
    shared.logOf(ref).info({ why: (error as Error).message }, 'the task is not ours any more');
    return 'not_ours';
  }
}

async function placeInputs(shared: WorkerContext, lease: Lease, signal: AbortSignal): Promise<Failed | null> {
  const directory = shared.directory(lease.ref);
  const { allowPython, datasets } = shared.settings;
  const { artifacts, catalog } = shared;
  const context = {
    ...{ lease, artifacts, catalog, allowPython, datasets },
    folder: directory.paths.inputs,
    persistence: shared.persistence(lease.ref, signal),
    hold: (what: string, held: Held) => directory.hold(what, held),
    note: (line: string) => directory.note(line),
  };
  try {
    if (lease.missing.length > 0) {
      const what = lease.missing.map((place) => `'${place.slice(1)}'`).join(', ');
      throw new WorkerError(`this worker cannot read the task: the server leased it without ${what}`);
    }
    directory.fingerprints = await materialize(context, directory.paths);
    return null;
  } catch (error) {
    if (signal.aborted) throw error;
    return failedBy(error);
  }
}

/** A success is none where an input that several tasks share was written to meanwhile, by whichever of them. */
async function runOnInputs(shared: WorkerContext, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  const outcome = await runChild(shared, lease, signal);
  const changed = outcome.verb === 'complete' ? await shared.directory(lease.ref).changedInput() : null;
  if (changed === null) return outcome;
  const error = `${changed} was changed while the task ran; it is only to be read: work on a copy in the workspace`;
  return { verb: 'fail', failure: { error, retriable: true, fault: 'task' } };
}

/**
 * Time in which this program stood still does not count, for then its machine slept, and the task with it.
 * @param seconds null: it never resolves
 */
async function untilDeadline(
  { wake }: WorkerContext,
  seconds: number | null,
  signal: AbortSignal,
): Promise<void> {
  if (seconds === null) return new Promise(() => {});
  const awake = () => performance.now() - wake.stoodStill();
  const end = awake() + seconds * 1000;
  for (let left = end - awake(); left > 0; left = end - awake()) {
    await sleep(Math.min(left, LONGEST_SLEEP_MS), signal);
  }
}

async function stopWork(shared: WorkerContext, ref: AttemptRef): Promise<void> {
  const directory = shared.directory(ref);
  directory.stopped = true;
  await directory.settled();
}

/** Gathers the files and writes the outbox entry: from here on the result survives this process. */
async function save(
  shared: WorkerContext,
  ref: AttemptRef,
  outcome: Outcome,
  lease: Lease | null,
): Promise<void> {
  const directory = shared.directory(ref);
  const log = shared.logOf(ref);
  if (outcome.verb === 'fail') directory.note(outcome.failure.error);
  const wants = lease?.payload.outputs;
  directory.entry = { ref, outcome, files: [] };
  try {
    const outputs =
      outcome.verb === 'complete' ? await outputsOf(directory, wants?.export_best_model === true) : [];
    await directory.release();
    await directory.closeLog();
    const small = shared.reports.takeFiles && JSON.stringify(outcome).length < LONG_REPORT / 2;
    const emptyLog = directory.log.empty;
    const wanted = {
      outputs,
      small,
      emptyLog,
      workspace: !directory.stopped && wants?.keep_task_workspace === true,
    };
    directory.entry.files = await pack(directory.paths, wanted, (what, fault) => {
      log.error({ what, why: fault.message }, 'a file cannot be kept; left out');
      directory.events.log(`[jq-worker] ${what} cannot be kept: ${fault.message}`);
    });
  } finally {
    await shared.outbox.save(directory.entry);
  }
}

/** What is kept of the output directory; what is not, the task's log says. */
async function outputsOf(directory: AttemptDirectory, wantsModel: boolean): Promise<OutputFile[]> {
  const { files, leftOut } = await findOutputs(directory.paths.output, wantsModel);
  for (const line of leftOut) {
    directory.note(line);
    directory.events.log(`[jq-worker] ${line}`);
  }
  return files;
}

async function upload(shared: WorkerContext, ref: AttemptRef, signal: AbortSignal): Promise<Uploaded> {
  const directory = shared.directory(ref);
  await shared.wake.asked(signal);
  directory.entry ??= await shared.outbox.find(ref);
  const { entry } = directory;
  if (!entry) return { verdict: 'accepted', artifacts: {} };
  const remembered = together(() => remember(shared, entry));
  const callbacks = {
    uploaded: () => {
      shared.metrics.uploaded('stored');
      return remembered();
    },
    leftOut: (role: string, why: string) => {
      shared.metrics.uploaded('left_out');
      directory.events.log(`[jq-worker] the ${role} could not be uploaded: ${why}`);
    },
  };
  try {
    return await uploadFiles(
      entry,
      directory.paths,
      shared.uploads,
      delivery(shared, ref, signal),
      callbacks,
    );
  } catch (error) {
    if (!isAbort(error))
      shared.logOf(ref).error({ err: error }, 'uploads failed; the result goes without them');
    throw error;
  } finally {
    await directory.events.close(signal);
  }
}

const delivery = (shared: WorkerContext, ref: AttemptRef, signal: AbortSignal) => ({
  client: shared.client,
  reports: shared.reports,
  persistence: { ...shared.persistence(ref, signal), patient: true },
});

/** Never two at a time: who asks while one is under way shares the next, which then has what each has done. */
function together(save: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= last = last.then(() => {
      next = null;
      return save();
    });
    return next;
  };
}

/** So that a later process need not upload it again; a full disk costs no more than that. */
async function remember(
  shared: WorkerContext,
  entry: Parameters<WorkerContext['outbox']['save']>[0],
): Promise<void> {
  await shared.outbox.save(entry).catch((error: Error) => {
    shared.logOf(entry.ref).warn({ why: error.message }, 'cannot note an upload');
  });
}

interface Report {
  ref: AttemptRef;
  outcome: Outcome;
  artifacts: Record<string, string>;
}

async function deliverReport(
  shared: WorkerContext,
  { ref, outcome, artifacts }: Report,
  signal: AbortSignal,
) {
  await shared.wake.asked(signal);
  const reportOutcome = await report(
    ref,
    outcome,
    artifacts,
    shared.directory(ref).entry,
    delivery(shared, ref, signal),
  );
  shared.metrics.ended(outcome, reportOutcome);
  const { words, ...why } = told(outcome);
  shared.logOf(ref).info({ ...why, verdict: reportOutcome }, words);
  return reportOutcome;
}

function told(outcome: Outcome): { words: string; error?: string; reason?: string } {
  if (outcome.verb === 'complete') return { words: 'task succeeded' };
  const { error, reason } = outcome.failure;
  return isGivenBack(outcome.failure)
    ? { words: 'task given back', ...(reason !== undefined && { reason }) }
    : { words: 'task failed', error };
}

async function clean(shared: WorkerContext, ref: AttemptRef): Promise<void> {
  // In this order, what is left after a crash is delivered once more, or removed, at the next start.
  shared.directory(ref).settle();
  await shared.outbox.remove(ref);
  await shared
    .directory(ref)
    .clear()
    .catch((fault: Error) => {
      const next = 'the directory of the task cannot be removed; the next start of this worker tries again';
      shared.logOf(ref).warn({ why: fault.message }, next);
    });
  shared.forget(ref);
}
