import type { MessageOf } from '../../../gateway/messages.ts';
import { PREEMPTED } from '../../../machines/schema/report.ts';
import type { Failure } from '../../../machines/task/task.ts';
import type { TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import { armMissing } from '../runtime/arm-deadlines.ts';
import { canRunSomewhere } from '../scheduling/eligibility.ts';
import { registrationOf } from '../scheduling/exclusions.ts';
import { pathsOf } from '../scheduling/named-paths.ts';
import { narrow } from '../scheduling/queueing.ts';
import type { Turn } from '../turn/turn.ts';
import { admitReport, reportOf, tellReport } from './fencing.ts';
import type { Handler, Preloaded } from './handler.ts';
import { recordFile } from './record-artifact.ts';

/**
 * Failure; the task is queued again while attempts remain and the failure is retriable. A fault of the worker's own
 * costs no attempt, and the task is tried again elsewhere or not at all; a worker that has to end gives it back
 * (docs/semantics.md#faults-and-attempts).
 */
export const failTask: Handler<'fail_task'> = {
  whenStoreFails: 'wait',
  preload: ({ task_id, worker_id, failure }) => ({
    tasks: [task_id],
    workers: [worker_id],
    piecesOf: failure.fault === 'worker' ? [task_id] : [],
  }),
  handle(message, { turn, preloaded }) {
    const { task, repeated } = admitReport(turn, message, 'fail');
    if (repeated) return failed(repeated);
    const said = message.failure;
    const report = reportOf(task, message, 'fail');
    if (said.reason === PREEMPTED) {
      const answer = tellReport(turn, task, { type: 'GIVE_BACK', report });
      keepFiles(turn, task, message);
      return failed(answer);
    }
    const { error, traceback, retriable = true, fault = 'task' } = said;
    const missing_path = fault === 'worker' ? said.missing_path : undefined;
    const { row } = task;
    const worker = turn.worker(message.worker_id);
    const paths =
      fault === 'worker' ? pathsMissing(task, worker, { error, missing_path }, { turn, preloaded }) : [];
    const by = registrationOf(worker.row);
    const asked = { requirement: row.requirement_id, avoids: [...row.avoids, by], paths };
    const failure: Failure = {
      ...{ error, traceback, retriable, fault, missing_path, by },
      elsewhere: fault === 'worker' && canRunSomewhere(turn.core, asked),
    };
    const answer = tellReport(turn, task, { type: 'FAIL', now: turn.now, report, ...failure });
    keepFiles(turn, task, message);
    if (task.row.status === 'queued' && paths.length > 0) narrow(turn, task, paths);
    return failed(answer);
  },
};

function keepFiles(turn: Turn, task: TaskCell, { files = [] }: MessageOf<'fail_task'>): void {
  for (const file of files) recordFile(turn, task, file, turn.makeId('art'));
}

const failed = ({ ok, requeued = false }: { ok: boolean; requeued?: boolean }) => ({ ok, requeued });

/** Notes what the worker lacks; returns the paths of the task that some worker lacks. */
function pathsMissing(
  { row }: TaskCell,
  worker: WorkerCell,
  { error, missing_path }: Pick<Failure, 'error' | 'missing_path'>,
  { turn, preloaded }: { turn: Turn; preloaded: Preloaded },
): string[] {
  const { directory, clock } = turn.core;
  if (missing_path !== undefined) {
    worker.update(turn, {
      missingPaths: worker.missingPaths.with(missing_path, error, clock.monotonic()),
    });
    armMissing(turn.core, worker);
    turn.reviewWaiting = true;
  }
  const pieces = preloaded.jobPieces.get(row.job_id);
  const workers = [...directory.workers.values()].filter(({ missingPaths }) => missingPaths.size > 0);
  if (!pieces || workers.length === 0) return [];
  return pathsOf(pieces, row.payload).filter((path) =>
    workers.some(({ missingPaths }) => missingPaths.has(path)),
  );
}
