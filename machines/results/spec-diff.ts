import { elements, members } from '../json/raw.ts';
import { describePipelines } from '../ranking/steps.ts';
import { libraryOf } from '../schema/job-types.ts';
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
/** Characters of a pipeline or dataset that only some jobs have: enough for what a person reads. */
const LONGEST = 2000;
/** Members by which pipelines of different names may differ to be told apart by these instead of as a whole. */
const MOST_PARTS = 12;

/** What a specification says: single values, and the pipelines and datasets by what they are called. */
interface Told {
  leaves: Map<string, string>;
  named: Record<string, Map<string, string>>;
}

/**
 * What differs between jobs: in pipelines, datasets and parameters, as they were written, and in the versions of their
 * libraries. Pipelines and datasets are compared by what they are called, wherever they stand; where each job has but
 * one, those are compared whatever they are called.
 * @param contents by artifact, where it is known: equal bytes that were uploaded twice are no difference
 */
export function differencesOf(
  jobs: readonly ComparedJob[],
  contents: ReadonlyMap<string, Content> = new Map(),
): Difference[] {
  const files = wordsOfFiles(contents);
  const steps = stepsOfAll(jobs.map(({ request }) => request));
  const told = jobs.map((job) => toldBy(job, files, steps));
  const lists = [...new Set(told.flatMap(({ named }) => Object.keys(named)))];
  const areForeign = new Set(jobs.map(({ job }) => libraryOf(job.type))).size > 1;
  return [
    ...unlike(told.map(({ leaves }) => leaves)).filter(({ what }) => what !== LIBRARY),
    ...lists.flatMap((list) => {
      const named = told.map((one) => one.named[list] ?? new Map<string, string>());
      return areForeign && list === 'pipeline' ? asWords(named) : differencesIn(list, named, files);
    }),
    ...unlike(told.map(({ leaves }) => leaves)).filter(({ what }) => what === LIBRARY),
  ];
}

const LIBRARY = 'library';

/** By inline pipelines without a name, their steps as far as they tell them apart, those of all jobs together. */
function stepsOfAll(requests: readonly string[]): ReadonlyMap<string, string | null> {
  const texts = requests.flatMap((request) =>
    [...members(request)].flatMap(([key, text]) => (LISTS[key] === 'pipeline' ? refsIn(key, text) : [])),
  );
  const different = [...new Set(texts)];
  const described = describePipelines(different.map((text) => JSON.parse(text)));
  return new Map(different.map((text, i) => [text, described[i] ?? null]));
}

const refsIn = (key: string, text: string): string[] =>
  text === 'null' ? [] : key.endsWith('s') ? [...elements(text)] : [text];

function toldBy(
  { job, request, versions }: ComparedJob,
  files: ReadonlyMap<string, string>,
  steps: ReadonlyMap<string, string | null>,
): Told {
  // A job that names no type has one all the same.
  const told: Told = { leaves: new Map([['type', JSON.stringify(job.type)]]), named: {} };
  for (const [key, text] of members(request)) {
    if (PASSED_OVER.has(key) || text === 'null') continue;
    const list = LISTS[key];
    if (list === undefined) addLeaves(told.leaves, key, text, files);
    else told.named[list] = byName(refsIn(key, text), steps);
  }
  told.leaves.set(LIBRARY, [...versions].sort().join(', '));
  return told;
}

/** What is not the same in all of them. */
function unlike(maps: readonly ReadonlyMap<string, string>[]): Difference[] {
  const names = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  return names
    .map((what) => ({ what, values: maps.map((map) => map.get(what) ?? null) }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Pipelines of several libraries have no members in common, so that each is told by its steps. */
function asWords(jobs: readonly ReadonlyMap<string, string>[]): Difference[] {
  const names = [...new Set(jobs.flatMap((named) => [...named.keys()]))];
  return names.map((name) => ({
    what: `pipeline ${name}`,
    values: wordsOfPipelines(jobs.map((named) => named.get(name) ?? null)),
  }));
}

/** Each by its steps, whole; as they are written where two that differ have the same words. */
function wordsOfPipelines(texts: readonly (string | null)[]): (string | null)[] {
  const words = texts.map(
    (text) => text && (describePipelines([unnamed(text)], LONGEST)[0] ?? shortened(text)),
  );
  return new Set(words).size === new Set(texts).size ? words : texts.map((text) => text && shortened(text));
}

/** So that it is described by its steps, and not by what it is called. */
function unnamed(text: string): object {
  const { name: _, inline, ...ref } = JSON.parse(text);
  const isNamed = typeof inline === 'object' && inline !== null && !Array.isArray(inline);
  return { ...ref, inline: isNamed ? { ...inline, name: undefined } : inline };
}

/** A dataset by its kind, the file or path that it is, and what else is said of it. */
function wordsOfDataset(text: string, files: ReadonlyMap<string, string>): string {
  const { kind, name: _, artifact_id, path, ...rest } = JSON.parse(text) as Record<string, unknown>;
  const file = artifact_id === undefined ? path : (files.get(String(artifact_id)) ?? artifact_id);
  const more = Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return shortened([kind, file, ...more].filter((part) => part !== undefined).join(' '));
}

/** Between the pipelines of jobs, or their datasets, each by what it is called. */
function differencesIn(
  list: string,
  jobs: readonly ReadonlyMap<string, string>[],
  files: ReadonlyMap<string, string>,
): Difference[] {
  const names = [...new Set(jobs.flatMap((named) => [...named.keys()]))];
  if (names.length > 1 && jobs.every((named) => named.size === 1)) {
    const parts = partsUnlike(
      list,
      jobs.map((named) => [...named.values()][0] as string),
      files,
    );
    if (parts.length <= MOST_PARTS) return parts;
  }
  return names.flatMap((name) => {
    const texts = jobs.map((named) => named.get(name) ?? null);
    const what = `${list} ${name}`;
    const parts = partsUnlike(what, texts, files);
    // What is in it says also which jobs lack it.
    if (parts.length > 0 || !texts.includes(null)) return parts;
    const isPipeline = list === 'pipeline';
    const words = isPipeline
      ? wordsOfPipelines(texts)
      : texts.map((text) => text && wordsOfDataset(text, files));
    return [{ what, values: words }];
  });
}

/** Stands between the name of a pipeline and what is in it. */
const END = ' › ';

/** Member by member, as far as those that have it differ. */
function partsUnlike(
  what: string,
  texts: readonly (string | null)[],
  files: ReadonlyMap<string, string>,
): Difference[] {
  const leaves = texts.map((text) => {
    const found = new Map<string, string>();
    for (const [key, value] of text === null ? [] : members(text))
      if (key !== 'name') addLeaves(found, `${what}${END}${key}`, value, files);
    return found;
  });
  const unlikeThere = new Set(unlike(leaves.filter((_, job) => texts[job] !== null)).map((one) => one.what));
  return unlike(leaves).filter((one) => unlikeThere.has(one.what));
}

const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** Of several of the same name, the second has `#2` behind it and so on. */
function byName(texts: readonly string[], steps: ReadonlyMap<string, string | null>): Map<string, string> {
  const uses = new Map<string, number>();
  return new Map(
    texts.map((text) => {
      const name = nameOf(text, steps.get(text) ?? null);
      const nth = (uses.get(name) ?? 0) + 1;
      uses.set(name, nth);
      return [nth === 1 ? name : `${name} #${nth}`, text];
    }),
  );
}

function nameOf(text: string, steps: string | null): string {
  const ref = JSON.parse(text) as Record<string, unknown>;
  const { name, path, catalog_id, entrypoint, artifact_id, kind } = ref;
  return String(name ?? steps ?? path ?? catalog_id ?? entrypoint ?? artifact_id ?? kind);
}

/** A line for each number, word and the like. */
function addLeaves(
  leaves: Map<string, string>,
  what: string,
  text: string,
  files: ReadonlyMap<string, string>,
): void {
  if (text.startsWith('{') && text !== '{}') {
    for (const [key, value] of members(text)) addLeaves(leaves, `${what}.${key}`, value, files);
  } else if (text.startsWith('[') && text !== '[]') {
    for (const [i, value] of elements(text).entries()) addLeaves(leaves, `${what}[${i}]`, value, files);
  } else {
    const file = what.endsWith('artifact_id') ? files.get(JSON.parse(text) as string) : undefined;
    leaves.set(what, file ?? text);
  }
}

/** What is in an artifact. */
export interface Content {
  sha256: string;
  /** What it was called when it was uploaded. */
  filename: string | null;
}

/** By artifact, its name and its hash; the same for equal bytes, whatever they were called. */
function wordsOfFiles(contents: ReadonlyMap<string, Content>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { sha256, filename } of contents.values())
    if (filename !== null && !names.has(sha256)) names.set(sha256, filename);
  const words = ({ sha256 }: Content) => {
    const [name, hash] = [names.get(sha256), `sha256 ${sha256.slice(0, 12)}`];
    return name === undefined ? hash : `${name} (${hash})`;
  };
  return new Map([...contents].map(([id, content]) => [id, words(content)]));
}

/** The artifacts that a specification names. */
export const artifactsIn = (request: string): string[] =>
  [...request.matchAll(/"(?:bundle_)?artifact_id":\s*"([^"\\]+)"/g)].map(([, id]) => id as string);
