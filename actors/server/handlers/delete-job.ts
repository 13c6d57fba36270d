import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import type { JobStatus } from '../../../machines/schema/views.ts';
import { assertDeletable, deleteJobs } from '../retention/delete-jobs.ts';
import type { JobRow } from '../store/rows.ts';
import type { Handler } from './handler.ts';

/** Deletes a job that has ended; what is left of it goes in slices afterwards. */
export const deleteJob: Handler<'delete_job'> = {
  // What others have of it is asked of the store, so nobody may be getting it just now.
  alone: true,
  preload: ({ job_id }) => ({ jobs: [job_id] }),
  async handle({ principal, job_id, dry_run, status, ended_before }, { turn }) {
    const { row } = turn.job(job_id);
    assertOwner(principal, row, 'deletes');
    assertChosen(row, status, ended_before);
    await assertDeletable(turn.core.store, row);
    if (!dry_run) deleteJobs(turn, [row], { principal: principal.name });
    return { id: job_id, deleted: !dry_run, num_tasks: row.num_tasks };
  },
};

/** @throws ClusterError `illegal_transition` where it is not any more as it was chosen */
function assertChosen({ id, status, updated_at }: JobRow, chosen?: JobStatus, before?: number): void {
  if (chosen !== undefined && status !== chosen)
    throw new ClusterError('illegal_transition', `job ${id} is ${status} by now, not ${chosen}, and stays`);
  if (before !== undefined && hasEnded(status) && updated_at >= before)
    throw new ClusterError('illegal_transition', `job ${id} has ended anew meanwhile, and stays`);
}

/** @throws ClusterError `not_owner` unless the job is the principal's own, or they have all rights */
export function assertOwner(principal: Principal, { id, owner }: JobRow, verb: string): void {
  if (principal.name === owner || principal.rights.includes('admin')) return;
  const who = `'${principal.name}' neither submitted it nor has the right admin`;
  throw new ClusterError('not_owner', `nobody else ${verb} job ${id} of '${owner}': ${who}`);
}
