import type { ClusterClient } from '../../../gateway/client/client.ts';
import type { JobSpec } from '../../../machines/schema/job.ts';
import type { JobView, TaskView } from '../../../machines/schema/views.ts';
import { datasetsOf, pipelinesOf } from '../../../machines/submission/submission.ts';
import { ifUnsupported } from '../cluster-snapshot.ts';

/** A task that ran another pipeline than the one that its job pinned; the result stands. */
export interface Mismatch {
  task_id: string;
  expected: string;
  /** Null where the worker reported none. */
  reported: string | null;
}

/**
 * The tasks that reported another fingerprint than `expected_fingerprint` of their pipeline. Neither jobs nor
 * tasks say so by themselves, therefore the job's request is read and compared.
 * @param tasks all of the job, in their order: pipeline by pipeline, for each its datasets
 */
export async function mismatches(
  client: ClusterClient,
  job: JobView,
  tasks: readonly TaskView[],
): Promise<Mismatch[]> {
  if (!tasks.some(({ result }) => result !== null)) return [];
  const request = await client.callText('getJobRequest', { params: { id: job.id } }).catch(ifUnsupported(''));
  if (!request.includes('"expected_fingerprint"')) return [];
  const spec = JSON.parse(request) as JobSpec;
  const pipelines = pipelinesOf(spec);
  const datasets = datasetsOf(spec).length;
  return tasks.flatMap(({ id, result }, i) => {
    const pipeline = pipelines[Math.floor(i / datasets)];
    const expected = pipeline?.kind === 'inline_json' ? pipeline.expected_fingerprint : undefined;
    const fingerprint = result?.pipeline_fingerprint;
    if (result === null || expected === undefined || fingerprint === expected) return [];
    return [{ task_id: id, expected, reported: typeof fingerprint === 'string' ? fingerprint : null }];
  });
}
