import { fromPromise } from 'xstate';
import {
  type AttemptRef,
  attemptMachine,
  type Failed,
  type Lease,
  type Outcome,
  type ReportOutcome,
} from '../../../machines/attempt/attempt.ts';
import { isNotOurs, report, type Uploaded, uploadFiles } from '../delivery/deliver.ts';
import { findOutputs, type OutputFile } from '../delivery/outputs.ts';
import { pack } from '../delivery/pack.ts';
import { LONG_REPORT } from '../delivery/reports.ts';
import type { Held } from '../inputs/cache/cache.ts';
import { materialize } from '../inputs/materialize.ts';
import { sleep } from '../link/backoff.ts';
import { isAbort } from '../link/link-errors.ts';
import { persist } from '../link/persist.ts';
import type { WorkerContext } from '../worker-context.ts';
import type { AttemptDirectory } from './attempt-directory.ts';
import { failedBy, WorkerError } from './failure.ts';
import { runChild } from './run-child.ts';

/** Node's timers overflow beyond 2^31 ms and then fire at once. */
const LONGEST_SLEEP_MS = 2_000_000_000;

/** Beyond the grace period: what has not ended by then hangs in the kernel. */
const HANGING_SECONDS = 30;

/** The statechart of an attempt with its impure steps: HTTP, files, processes. */
export function attemptLogic(shop: WorkerContext) {
  return attemptMachine.provide({
    actors: {
      reportStart: fromPromise<ReportOutcome | Failed, Lease>(({ input, signal }) =>
        reportStart(shop, input.ref, signal),
      ),
      materialize: fromPromise<Failed | null, Lease>(({ input, signal }) =>
        shop.directory(input.ref).work(placeInputs(shop, input, signal)),
      ),
      deadline: fromPromise<void, number | null>(({ input, signal }) => untilDeadline(shop, input, signal)),
      runChild: fromPromise<Outcome, Lease>(({ input, signal }) =>
        shop.directory(input.ref).work(runOnInputs(shop, input, signal)),
      ),
      stopWork: fromPromise<void, AttemptRef>(({ input }) => stopWork(shop, input)),
      save: fromPromise<void, { ref: AttemptRef; outcome: Outcome; lease: Lease | null }>(({ input }) =>
        save(shop, input.ref, input.outcome, input.lease),
      ),
      upload: fromPromise<Uploaded, AttemptRef>(({ input, signal }) => upload(shop, input, signal)),
      report: fromPromise<ReportOutcome, Report>(({ input, signal }) => deliverReport(shop, input, signal)),
      clean: fromPromise<void, AttemptRef>(({ input }) => clean(shop, input)),
    },
    delays: { longestStop: (shop.settings.graceSeconds + HANGING_SECONDS) * 1000 },
  });
}

async function reportStart(
  shop: WorkerContext,
  ref: AttemptRef,
  signal: AbortSignal,
): Promise<ReportOutcome | Failed> {
  try {
    await shop.directory(ref).open();
    await shop.wake.asked(signal);
    await persist(
      'start',
      () => shop.reports.send({ type: 'start', ...ref }, signal),
      shop.persistence(ref, signal),
    );
    return 'accepted';
  } catch (fault) {
    if (signal.aborted) throw fault;
    if (!isNotOurs(fault)) return failedBy(fault);
    shop.logOf(ref).info({ why: (fault as Error).message }, 'the task is not ours any more');
    return 'not_ours';
  }
}

async function placeInputs(shop: WorkerContext, lease: Lease, signal: AbortSignal): Promise<Failed | null> {
  const directory = shop.directory(lease.ref);
  const { allowPython, datasets } = shop.settings;
  const { artifacts, catalog } = shop;
  const context = {
    ...{ lease, artifacts, catalog, allowPython, datasets },
    folder: directory.paths.inputs,
    persistence: shop.persistence(lease.ref, signal),
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
  } catch (fault) {
    if (signal.aborted) throw fault;
    return failedBy(fault);
  }
}

/** A success is none where an input that several tasks share was written to meanwhile, by whichever of them. */
async function runOnInputs(shop: WorkerContext, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  const outcome = await runChild(shop, lease, signal);
  const changed = outcome.verb === 'complete' ? await shop.directory(lease.ref).changedInput() : null;
  if (changed === null) return outcome;
  const error = `${changed} was changed while the task ran; it is only to be read: work on a copy in the workspace`;
  return { verb: 'fail', failure: { error, retriable: true, fault: 'task' } };
}

/** Time in which this program stood still does not count, for then its machine slept, and the task with it. */
async function untilDeadline(
  { wake }: WorkerContext,
  seconds: number | null,
  signal: AbortSignal,
): Promise<void> {
  const awake = () => performance.now() - wake.stoodStill();
  const end = awake() + (seconds ?? Number.POSITIVE_INFINITY) * 1000;
  for (let left = end - awake(); left > 0; left = end - awake()) {
    await sleep(Math.min(left, LONGEST_SLEEP_MS), signal);
  }
}

async function stopWork(shop: WorkerContext, ref: AttemptRef): Promise<void> {
  const directory = shop.directory(ref);
  directory.stopped = true;
  await directory.settled();
}

/** Gathers the files and writes the outbox entry: from here on the result survives this process. */
async function save(
  shop: WorkerContext,
  ref: AttemptRef,
  outcome: Outcome,
  lease: Lease | null,
): Promise<void> {
  const directory = shop.directory(ref);
  const log = shop.logOf(ref);
  if (outcome.verb === 'fail') directory.note(outcome.failure.error);
  const wants = lease?.payload.outputs;
  directory.entry = { ref, outcome, files: [] };
  try {
    const outputs =
      outcome.verb === 'complete' ? await outputsOf(directory, wants?.export_best_model === true) : [];
    await directory.release();
    await directory.closeLog();
    const small = shop.reports.takeFiles && JSON.stringify(outcome).length < LONG_REPORT / 2;
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
    await shop.outbox.save(directory.entry);
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

async function upload(shop: WorkerContext, ref: AttemptRef, signal: AbortSignal): Promise<Uploaded> {
  const directory = shop.directory(ref);
  await shop.wake.asked(signal);
  directory.entry ??= await shop.outbox.find(ref);
  const { entry } = directory;
  if (!entry) return { verdict: 'accepted', artifacts: {} };
  const told = {
    uploaded: () => remember(shop, entry),
    leftOut: (role: string, why: string) =>
      directory.events.log(`[jq-worker] the ${role} could not be uploaded: ${why}`),
  };
  try {
    return await uploadFiles(entry, directory.paths, shop.uploads, delivery(shop, ref, signal), told);
  } catch (fault) {
    if (!isAbort(fault))
      shop.logOf(ref).error({ err: fault }, 'uploads failed; the result goes without them');
    throw fault;
  } finally {
    await directory.events.close(signal);
  }
}

const delivery = (shop: WorkerContext, ref: AttemptRef, signal: AbortSignal) => ({
  client: shop.client,
  reports: shop.reports,
  persistence: { ...shop.persistence(ref, signal), patient: true },
});

/** So that a later process need not upload it again; a full disk costs no more than that. */
async function remember(
  shop: WorkerContext,
  entry: Parameters<WorkerContext['outbox']['save']>[0],
): Promise<void> {
  await shop.outbox.save(entry).catch((fault: Error) => {
    shop.logOf(entry.ref).warn({ why: fault.message }, 'cannot note an upload');
  });
}

interface Report {
  ref: AttemptRef;
  outcome: Outcome;
  artifacts: Record<string, string>;
}

async function deliverReport(shop: WorkerContext, { ref, outcome, artifacts }: Report, signal: AbortSignal) {
  await shop.wake.asked(signal);
  const reportOutcome = await report(
    ref,
    outcome,
    artifacts,
    shop.directory(ref).entry,
    delivery(shop, ref, signal),
  );
  const why = outcome.verb === 'fail' ? { error: outcome.failure.error } : {};
  shop
    .logOf(ref)
    .info({ ...why, verdict: reportOutcome }, `task ${outcome.verb === 'fail' ? 'failed' : 'succeeded'}`);
  return reportOutcome;
}

async function clean(shop: WorkerContext, ref: AttemptRef): Promise<void> {
  // In this order, what is left after a crash is delivered once more, or removed, at the next start.
  shop.directory(ref).settle();
  await shop.outbox.remove(ref);
  await shop.directory(ref).clear();
  shop.forget(ref);
}
