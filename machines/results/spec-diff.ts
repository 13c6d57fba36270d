import { elements, members } from '../json/raw.ts';
import { describePipelines } from '../ranking/steps.ts';
import type { ComparedJob } from './compare.ts';

/** Something that is not the same in all of several jobs. */
export interface Difference {
  /** What it is, such as `params.random_state`. */
  what: string;
  /** By job, as it was written; null where a job does not say. */
  values: (string | null)[];
}

/** They say what a job is called and where it came from, not what it computes. */
const PASSED_OVER = new Set(['name', 'note', 'tags', 'idempotency_key', 'resubmitted_from']);
const LISTS: Readonly<Record<string, string>> = {
  pipeline: 'pipeline',
  pipelines: 'pipeline',
  dataset: 'dataset',
  datasets: 'dataset',
};
/** Characters of a pipeline that only some jobs have. */
const LONGEST = 200;

/**
 * What differs between jobs: in pipelines, datasets and parameters, as they were written, and in the versions of their
 * libraries. Pipelines and datasets are compared by what they are called, wherever they stand.
 * @param contents SHA-256 by artifact, where it is known: equal bytes that were uploaded twice are no difference
 */
export function differencesOf(
  jobs: readonly ComparedJob[],
  contents: ReadonlyMap<string, string> = new Map(),
): Difference[] {
  const told = jobs.map(({ request, versions }) => {
    const leaves = new Map<string, string>();
    for (const [key, text] of members(request)) {
      if (PASSED_OVER.has(key) || text === 'null') continue;
      const list = LISTS[key];
      if (list === undefined) addLeaves(leaves, key, text, contents);
      else addNamed(leaves, list, key.endsWith('s') ? elements(text) : [text], contents);
    }
    leaves.set('library', [...versions].sort().join(', '));
    return leaves;
  });
  const names = [...new Set(told.flatMap((leaves) => [...leaves.keys()]))];
  return names
    .map((what) => ({ what, values: told.map((leaves) => leaves.get(what) ?? null) }))
    .filter(({ what, values }) => new Set(values).size > 1 && isOwnDifference(what, values, told));
}

/** Of a pipeline that a job lacks the parts are no differences of their own, and of one that all have, the whole is none. */
function isOwnDifference(
  what: string,
  values: readonly (string | null)[],
  told: readonly ReadonlyMap<string, string>[],
): boolean {
  const end = what.indexOf(END);
  if (end >= 0) return told.every((leaves) => leaves.has(what.slice(0, end)));
  return !/^(pipeline|dataset) /.test(what) || values.includes(null);
}

/** Stands between the name of a pipeline and what is in it. */
const END = ' › ';

function addNamed(
  leaves: Map<string, string>,
  list: string,
  texts: readonly string[],
  contents: ReadonlyMap<string, string>,
): void {
  for (const text of texts) {
    const what = `${list} ${nameOf(text)}`;
    // That it is there; what is in it stands in lines of its own.
    leaves.set(what, text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
    for (const [key, value] of members(text)) {
      if (key !== 'name') addLeaves(leaves, `${what}${END}${key}`, value, contents);
    }
  }
}

function nameOf(text: string): string {
  const ref = JSON.parse(text) as Record<string, unknown>;
  const { name, path, catalog_id, entrypoint, artifact_id, kind } = ref;
  const [steps] = describePipelines([ref]);
  return String(name ?? steps ?? path ?? catalog_id ?? entrypoint ?? artifact_id ?? kind);
}

/** A line for each number, word and the like. */
function addLeaves(
  leaves: Map<string, string>,
  what: string,
  text: string,
  contents: ReadonlyMap<string, string>,
): void {
  if (text.startsWith('{') && text !== '{}') {
    for (const [key, value] of members(text)) addLeaves(leaves, `${what}.${key}`, value, contents);
  } else if (text.startsWith('[') && text !== '[]') {
    for (const [i, value] of elements(text).entries()) addLeaves(leaves, `${what}[${i}]`, value, contents);
  } else {
    const sha256 = what.endsWith('artifact_id') ? contents.get(JSON.parse(text) as string) : undefined;
    leaves.set(what, sha256 === undefined ? text : `sha256 ${sha256.slice(0, 12)}`);
  }
}

/** The artifacts that a specification names. */
export const artifactsIn = (request: string): string[] =>
  [...request.matchAll(/"(?:bundle_)?artifact_id":\s*"([^"\\]+)"/g)].map(([, id]) => id as string);
