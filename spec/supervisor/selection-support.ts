import type { LeasedTask } from '../../gateway/messages.ts';
import type { TaskPayload } from '../../machines/schema/lease.ts';
import { job } from '../support/cluster.ts';

export const pipelines = (count: number) =>
  Array.from({ length: count }, (_, place) => ({
    kind: 'inline_json',
    name: `p${place}`,
    inline: { steps: [place] },
  }));

export const datasets = (...names: string[]) =>
  names.map((name) => ({ kind: 'shared_path', path: `/data/${name}`, name }));

/** A job that selects the best of so many pipelines; give what differs. */
export const selecting = (count: number, differs: Record<string, unknown> = {}): Record<string, unknown> => {
  const { pipeline: _, ...others } = job();
  return { ...others, pipelines: pipelines(count), select: {}, retry: { max_attempts: 1 }, ...differs };
};

export const payloadOf = (lease: LeasedTask) => JSON.parse(lease.payload.text) as TaskPayload;

export const cv = (cv_rmse: number, best_rmse = 0.1) => ({ metrics: { cv_rmse, best_rmse } });
