import { elements, members } from '../../../machines/json/raw.ts';
import { TASK_STATUSES } from '../../../machines/schema/statuses.ts';
import type { TaskStatus } from '../../../machines/schema/views.ts';
import { changed, withoutKey } from '../../../machines/submission/resubmitted.ts';

export const ONLY = ['failed', 'cancelled', 'unfinished'] as const;
export type Only = (typeof ONLY)[number];

/** The statuses of the tasks that are meant. What has not succeeded has not done what was asked of it. */
export const STATUSES_OF: Readonly<Record<Only, readonly TaskStatus[]>> = {
  failed: ['failed'],
  cancelled: ['cancelled'],
  unfinished: TASK_STATUSES.filter((status) => status !== 'succeeded'),
};

/**
 * The specifications of those tasks of a job that are chosen, as few as there can be: a specification has every
 * pipeline on every dataset, so pipelines go together that are wanted on the same datasets.
 * @param request the stored specification
 * @param isMeant whether the task at a place is chosen: pipeline by pipeline, datasets in their order
 */
export function specsOf(request: string, isMeant: (place: number) => boolean): string[] {
  const parts = new Map(members(request));
  const pipelines = listOf(parts, 'pipeline');
  const datasets = listOf(parts, 'dataset');
  const together = new Map<string, { datasets: number[]; pipelines: number[] }>();
  for (const pipeline of pipelines.keys()) {
    const wanted = [...datasets.keys()].filter((dataset) => isMeant(pipeline * datasets.length + dataset));
    if (wanted.length === 0) continue;
    const group = together.get(wanted.join()) ?? { datasets: wanted, pipelines: [] };
    group.pipelines.push(pipeline);
    together.set(wanted.join(), group);
  }
  return [...together.values()].map((group) =>
    changed(
      withoutKey(request),
      new Map([
        ['pipeline', null],
        ['dataset', null],
        ['pipelines', `[${group.pipelines.map((place) => pipelines[place]).join(',')}]`],
        ['datasets', `[${group.datasets.map((place) => datasets[place]).join(',')}]`],
      ]),
    ),
  );
}

/** The texts of what stands under `name` alone, or as a list under its plural. */
function listOf(parts: ReadonlyMap<string, string>, name: string): string[] {
  const given = (key: string) => {
    const text = parts.get(key);
    return text === undefined || text === 'null' ? undefined : text;
  };
  const several = given(`${name}s`);
  return several === undefined ? [given(name) ?? 'null'] : elements(several);
}
