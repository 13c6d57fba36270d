import { createHash } from 'node:crypto';
import { canonicalJson } from '../json/canonical.ts';
import { compose, elements, members, RawJson } from '../json/raw.ts';
import { type JobSpec, SILENT_MEMBERS } from '../schema/job.ts';
import { DEFAULT_TYPE } from '../schema/job-types.ts';
import { settingsOf } from './decompose.ts';

/** Members that are compared by their values with defaults, or say nothing about the job. */
const SAID_OTHERWISE = new Set([
  ...['type', 'name', 'priority', 'outputs', 'retry', 'timeout_seconds', 'rank_metric', 'rank_mode'],
  ...['pipeline', 'pipelines', 'model', 'dataset', 'datasets', 'params', 'requirements'],
  ...['native_payload', 'nativePayload', 'idempotency_key', 'reuse', 'select', 'decompose'],
  ...['note', 'tags'],
  ...SILENT_MEMBERS,
]);

/**
 * What a specification means, as a hash: two that mean the same have the same (docs/protocol.md#jobs). `null`, a field
 * that is left out and its default are the same, and the order of keys says nothing; numbers that mean something else
 * to a library, as `1` and `1.0`, are different.
 * @param text the JSON text of the specification, compact
 */
export function meaningOf(spec: JobSpec, text: string): string {
  const top = membersThere(text);
  const unknown = [...top].filter(([name]) => !SAID_OTHERWISE.has(name));
  // Only where it is asked for, so that what was submitted before means what it meant.
  const { selects, ...settings } = settingsOf(spec);
  const meaning = compose({
    type: spec.type ?? DEFAULT_TYPE,
    name: spec.name ?? null,
    settings,
    ...(selects ? { selects } : {}),
    params: new RawJson(top.get('params') ?? '{}'),
    requirements: requirementsIn(spec.requirements ?? {}),
    native: new RawJson(top.get('native_payload') ?? top.get('nativePayload') ?? 'null'),
    ...(spec.model
      ? { model: modelIn(top.get('model') ?? '{}') }
      : { pipelines: referencesIn(top, 'pipeline', 'pipelines') }),
    datasets: referencesIn(top, 'dataset', 'datasets'),
    unknown: fromMembers(unknown),
    ...(spec.reuse ? { reuse: spec.reuse } : {}),
    ...(spec.note ? { note: spec.note } : {}),
    ...(spec.tags?.length ? { tags: [...new Set(spec.tags)].sort() } : {}),
  });
  return createHash('sha256').update(canonicalJson(meaning), 'ascii').digest('hex');
}

/** The members of an object but for those that are null. */
const membersThere = (text: string): Map<string, string> =>
  new Map([...members(text)].filter(([, member]) => member !== 'null'));

const fromMembers = (entries: Iterable<readonly [string, string]>): Record<string, RawJson> =>
  Object.fromEntries([...entries].map(([name, member]) => [name, new RawJson(member)]));

/** That nothing is required is the same in whichever way it is said. */
const requirementsIn = (asked: object): object =>
  Object.fromEntries(
    Object.entries(asked).filter(([, member]) => member !== 0 && JSON.stringify(member) !== '{}'),
  );

/** Which artifact the best of a job is, the server says. */
function modelIn(text: string): Record<string, RawJson> {
  const said = membersThere(text);
  if (said.get('kind') === '"best_model"') said.delete('artifact_id');
  return fromMembers(said);
}

/** One is a list of one. */
function referencesIn(top: Map<string, string>, one: string, many: string): Record<string, RawJson>[] {
  const several = top.get(many);
  const texts = several === undefined ? [top.get(one) ?? '{}'] : elements(several);
  return texts.map((text) => {
    const said = new Map(
      [...members(text)].filter(([name, member]) => name === 'inline' || member !== 'null'),
    );
    const entrypoint = said.get('entrypoint');
    // The function that is meant where none is named.
    if (entrypoint !== undefined && !entrypoint.includes(':'))
      said.set('entrypoint', `${entrypoint.slice(0, -1)}:build_pipeline"`);
    return fromMembers(said);
  });
}
