import type { ClusterClient } from '../../../gateway/client/client.ts';
import { pipelineName } from '../../../machines/ranking/steps.ts';
import { csvLine } from '../../../machines/results/csv.ts';
import { libraryVersionOf } from '../../../machines/results/versions.ts';
import { libraryOf } from '../../../machines/schema/job-types.ts';
import type { TaskView, WorkerView } from '../../../machines/schema/views.ts';
import { ifUnsupported } from '../cluster-snapshot.ts';

const COLUMNS = [
  ...['task', 'pipeline', 'dataset', 'library', 'version', 'attempt', 'seconds'],
  ...['worker', 'worker_name', 'node', 'python', 'platform', 'jq_cluster'],
];

/** Which versions computed each result, as a table. What a worker runs now is told only of one that is still known. */
export async function versionsCsv(
  client: ClusterClient,
  type: string,
  tasks: readonly TaskView[],
): Promise<string> {
  const workers = await client.call('listWorkers').catch(ifUnsupported<WorkerView[]>([]));
  const byId = new Map(workers.map((worker) => [worker.id, worker]));
  const lines = tasks.flatMap((task) => {
    if (task.result === null) return [];
    const { provenance, duration_seconds } = task.result as Result;
    const worker = byId.get(provenance?.worker_id ?? '');
    const { node, python, platform } = (worker?.version ?? {}) as Record<string, unknown>;
    return csvLine([
      ...[
        task.id,
        pipelineName(task),
        task.dataset_label,
        libraryOf(type),
        libraryVersionOf(type, task.result),
      ],
      ...[task.attempt, numberOf(duration_seconds), provenance?.worker_id ?? null, worker?.name ?? null],
      ...[node, python, platform, worker?.cluster_version].map(textOf),
    ]);
  });
  return [csvLine(COLUMNS), ...lines].join('');
}

interface Result {
  duration_seconds?: unknown;
  provenance?: { worker_id?: string };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
