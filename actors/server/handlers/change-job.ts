import { FOREVER } from '../../../machines/job/keep.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { JobChange } from '../../../machines/schema/job-change.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import { changePriority } from '../jobs/change-priority.ts';
import { describeJob } from '../jobs/describe-job.ts';
import type { JobRow } from '../store/rows.ts';
import { assertOwner } from './delete-job.ts';
import type { Handler } from './handler.ts';

/** Changes what no statechart decides of a job. */
export const changeJob: Handler<'change_job'> = {
  // Its queued tasks are found in the store, and must be there as they are in memory.
  alone: true,
  preload: ({ job_id }) => ({ jobs: [job_id] }),
  async handle({ principal, job_id, change }, { turn }) {
    const job = turn.job(job_id);
    assertOwner(principal, job.row, 'changes');
    const changed = changesIn(change, job.row);
    if (Object.keys(changed).length === 0) return { job_id };
    const { priority, keep, ...description } = changed;
    if (priority !== undefined) {
      assertQueues(job.row);
      await changePriority(turn, job, priority);
    }
    if (keep !== undefined) job.amend(turn, { keep });
    if (Object.keys(description).length > 0) describeJob(turn, job, description);
    turn.event(
      { job_id },
      {
        level: 'info',
        type: 'job_changed',
        message: `${principal.name} changed the job: ${inWords(changed)}`,
        data: { principal: principal.name, ...changed },
      },
    );
    return { job_id };
  },
};

type Changed = Partial<Pick<JobRow, 'name' | 'note' | 'tags' | 'priority' | 'keep'>>;

/** What of it is not so already. */
function changesIn({ name, note, tags, priority, keep }: JobChange, row: JobRow): Changed {
  const asked: Changed = {
    ...(name !== undefined && { name: name || null }),
    ...(note !== undefined && { note: note || null }),
    ...(tags !== undefined && { tags: [...new Set(tags)] }),
    ...(priority !== undefined && { priority }),
    ...(keep !== undefined && { keep }),
  };
  const isNew = ([member, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(row[member as keyof Changed]);
  return Object.fromEntries(Object.entries(asked).filter(isNew));
}

/** @throws ClusterError `illegal_transition` for one whose tasks wait no more */
function assertQueues({ id, status }: JobRow): void {
  if (status !== 'cancelling' && !hasEnded(status)) return;
  throw new ClusterError(
    'illegal_transition',
    `job ${id} is ${status}: none of its tasks waits for its turn`,
  );
}

function inWords({ name, note, tags, priority, keep }: Changed): string {
  const words = [
    name !== undefined && (name === null ? 'it has no name' : `it is called ${name}`),
    note !== undefined && (note === null ? 'it has no note' : 'its note is another'),
    tags !== undefined && (tags.length === 0 ? 'it has no tags' : `it has the tags ${tags.join(', ')}`),
    priority !== undefined && `its priority is ${priority}`,
    keep !== undefined &&
      `it is kept ${keep === null ? 'as the server is set' : keep === FOREVER ? 'for ever' : `for ${keep}`}`,
  ];
  return words.filter((word) => word !== false).join('; ');
}
