import { compose, elements, members, RawJson } from '../../../machines/json/raw.ts';
import { TASK_STATUSES } from '../../../machines/schema/statuses.ts';
import type { JobView, TaskStatus } from '../../../machines/schema/views.ts';

export const ONLY = ['failed', 'cancelled', 'unfinished'] as const;
export type Only = (typeof ONLY)[number];

/** The statuses of the tasks that are meant. What has not succeeded has not done what was asked of it. */
export const STATUSES_OF: Readonly<Record<Only, readonly TaskStatus[]>> = {
  failed: ['failed'],
  cancelled: ['cancelled'],
  unfinished: TASK_STATUSES.filter((status) => status !== 'succeeded'),
};

/**
 * A stored specification as one to submit anew: under its idempotency key the server would answer with the old job, and
 * what that one came from says nothing of this. Numbers stay as they were written.
 */
export function withoutKey(request: string): string {
  return withMembers(
    request,
    new Map([
      ['idempotency_key', null],
      ['resubmitted_from', null],
    ]),
  );
}

/** The specification of a job with what that is called by now, what is said of it, and which job it is. */
export function asNow(request: string, { id, name, note = null, tags = [] }: JobView): string {
  return withMembers(
    request,
    new Map([
      ['resubmitted_from', JSON.stringify(id)],
      ['name', name === null ? null : JSON.stringify(name)],
      ['note', note === null ? null : JSON.stringify(note)],
      ['tags', tags.length === 0 ? null : JSON.stringify(tags)],
    ]),
  );
}

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
    withMembers(
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

/** The object with these members set, or without those that are null. */
export function withMembers(text: string, changes: ReadonlyMap<string, string | null>): string {
  const parts = new Map<string, string | null>([...members(text), ...changes]);
  const kept = [...parts].filter((part): part is [string, string] => part[1] !== null);
  return compose(Object.fromEntries(kept.map(([key, value]) => [key, new RawJson(value)])));
}
