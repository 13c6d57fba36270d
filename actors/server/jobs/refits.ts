import type { Choice } from '../../../machines/job/selection.ts';
import type { Requirements } from '../../../machines/schema/job.ts';
import { refitKey } from '../../../machines/submission/contents.ts';
import type { JobCell } from '../runtime/actor-cell.ts';
import type { Turn } from '../turn/turn.ts';
import { newTask, nextNumber } from './new-task.ts';
import { answersFor } from './reuse.ts';

/**
 * Queues what follows from selections of this turn, as a part of it: so there is no moment in which the last variant
 * has ended and nothing is known of the task that refits the best.
 */
export async function queueRefits(turn: Turn): Promise<void> {
  for (const job of turn.selecting) {
    turn.selecting.delete(job);
    for (const [dataset, { choice }] of (job.row.selection?.datasets ?? []).entries()) {
      // A person may have cancelled it in the same turn.
      const goesOn = job.row.status === 'queued' || job.row.status === 'running';
      if (goesOn && choice?.refit === 'wanted') await queueRefit(turn, job, dataset, choice);
    }
  }
}

async function queueRefit(turn: Turn, job: JobCell, dataset: number, choice: Choice): Promise<void> {
  const { directory, queue } = turn.core;
  await directory.fetch(turn.references, { tasks: [choice.task_id] });
  const variant = turn.task(choice.task_id).row;
  const { requirements } = queue;
  // By its job: a variant that ended before version 19 of the store has a number that says nothing of whose it is.
  const asked = JSON.parse(requirements.document(variant.requirement_id)) as Requirements;
  const { id: requirement_id, fresh } = requirements.number(turn, asked, job.row);
  if (fresh) turn.requirements.push(fresh);
  const own = {
    ...variant,
    requirement_id,
    seq: nextNumber(turn, job),
    payload: { ...variant.payload, role: 'refit' as const },
    content_key: refitKey(variant.content_key),
  };
  const task = turn.addTask(newTask(turn, job.row, own, turn.now));
  turn.tellJob(job, { type: 'REFIT_ADDED', dataset, task_id: task.id });
  if (job.row.reuse === null) return;
  const answer = (await answersFor(turn, job, [task])).events.get(task);
  if (answer) turn.tellTask(task, answer);
}
