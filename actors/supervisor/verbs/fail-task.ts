import type { Failure } from '../../../machines/task.ts';
import type { TaskAddress, WorkerAddress } from '../address.ts';
import { registrationOf } from '../demands.ts';
import { armMissing } from '../due.ts';
import { canRunSomewhere } from '../eligibility.ts';
import { pathsOf } from '../named-paths.ts';
import { narrow } from '../queueing.ts';
import { admitReport, reportOf, tellReport } from '../reports.ts';
import type { Turn } from '../turn.ts';
import type { Fetched, Verb } from '../verb.ts';
import { recordFile } from './record-artifact.ts';

/**
 * Failure; the task is queued again while attempts remain and the failure is retriable. A fault of the worker's own
 * costs no attempt, and the task is tried again elsewhere or not at all (docs/semantics.md#faults-and-attempts).
 */
export const failTask: Verb<'fail_task'> = {
  whenStoreFails: 'wait',
  needs: ({ task_id, worker_id, failure }) => ({
    tasks: [task_id],
    workers: [worker_id],
    documentsOf: failure.fault === 'worker' ? [task_id] : [],
  }),
  run(message, { turn, fetched }) {
    const { task, repeated } = admitReport(turn, message, 'fail');
    if (repeated) return failed(repeated);
    const said = message.failure;
    const { error, traceback, retriable = true, fault = 'task' } = said;
    const missing_path = fault === 'worker' ? said.missing_path : undefined;
    const { row } = task;
    const worker = turn.core.registry.worker(message.worker_id);
    const paths =
      fault === 'worker' ? pathsMissing(task, worker, { error, missing_path }, { turn, fetched }) : [];
    const by = registrationOf(worker);
    const asked = { requirement: row.requirement_id, avoids: [...row.avoids, by], paths };
    const failure: Failure = {
      ...{ error, traceback, retriable, fault, missing_path, by },
      elsewhere: fault === 'worker' && canRunSomewhere(turn.core, asked),
    };
    const report = reportOf(task, message, 'fail');
    const answer = tellReport(turn, task, { type: 'FAIL', now: turn.now, report, ...failure });
    for (const file of message.files ?? []) recordFile(turn, task, file, turn.core.makeId('art'));
    if (task.row.status === 'queued' && paths.length > 0) narrow(turn, task, paths);
    return failed(answer);
  },
};

const failed = ({ ok, requeued = false }: { ok: boolean; requeued?: boolean }) => ({ ok, requeued });

/** Notes what the worker lacks; returns the paths of the task that some worker lacks. */
function pathsMissing(
  { row }: TaskAddress,
  worker: WorkerAddress,
  { error, missing_path }: Pick<Failure, 'error' | 'missing_path'>,
  { turn, fetched }: { turn: Turn; fetched: Fetched },
): string[] {
  const { registry, clock } = turn.core;
  if (missing_path !== undefined) {
    worker.missing.note(turn, missing_path, error, clock.monotonic());
    armMissing(turn.core, worker);
    turn.judge = true;
  }
  const document = fetched.documents.get(row.job_id);
  const workers = [...registry.workers.values()].filter(({ missing }) => missing.size > 0);
  if (!document || workers.length === 0) return [];
  return pathsOf(document, row.payload).filter((path) => workers.some(({ missing }) => missing.has(path)));
}
