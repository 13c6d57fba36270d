import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JobSpec } from '../../machines/schema/job.ts';
import { unknownMembers } from '../../machines/submission/submission.ts';
import { base, checkJob, faults } from './job-check.ts';

const { pipeline, dataset } = base;

/** The faults of a job, or else its warnings. */
function said(job: object): string[] {
  const checked = checkJob(job);
  return checked.ok ? unknownMembers(checked.value) : faults(checkJob, job);
}

/** As fingers do it: two letters changed places, one is missing, one is too many. */
const misspelt = (word: string): string[] => [
  word.slice(0, -2) + word.slice(-1) + word.slice(-2, -1),
  word.slice(0, -2) + word.slice(-1),
  `${word}s`,
];

interface AnySchema {
  properties?: Record<string, AnySchema>;
  items?: AnySchema;
  anyOf?: AnySchema[];
  const?: unknown;
  enum?: unknown[];
}

/** Values of members that something cannot do without. */
const FILLED: Readonly<Record<string, unknown>> = {
  path: 'x',
  artifact_id: 'art_1',
  inline: 1,
  job_id: 'job_1',
  entrypoint: 'a:b',
  catalog_id: 'corn',
};

interface Place {
  /** Members that may stand there, or else words. */
  names: string[];
  words: string[];
  put(value: unknown): object;
}

/** Each place of the schema that has members or a closed set of words. */
function* places(schema: AnySchema, put: (value: unknown) => object): Generator<Place> {
  const { properties, items, anyOf } = schema;
  if (schema.enum) yield { names: [], words: schema.enum.map(String), put };
  if (items) yield* places(items, (value) => put([value]));
  for (const branch of anyOf ?? []) yield* places(branch, put);
  const kinds = anyOf?.map((branch) => branch.properties?.kind?.const);
  if (kinds?.[0]) yield { names: [], words: kinds.map(String), put: (kind) => put({ kind }) };
  if (!properties) return;
  const kind = properties.kind?.const;
  const filled = Object.keys(properties).filter((name) => kind !== undefined && name in FILLED);
  const whole = Object.fromEntries(filled.map((name) => [name, FILLED[name]]));
  const inside = (value: unknown) =>
    put({ ...(kind !== undefined && { kind }), ...whole, ...(value as object) });
  yield { names: Object.keys(properties).filter((name) => name !== 'kind'), words: [], put: inside };
  for (const [name, member] of Object.entries(properties)) {
    yield* places(member, (value) => inside({ [name]: value }));
  }
}

describe('a misspelt word in a job', () => {
  const all = [...places(JobSpec as AnySchema, (value) => value as object)];
  /** With all that a job cannot do without, except under the name that is misspelt. */
  const whole = (job: object): object => ({
    type: 'model' in job ? 'mljs.predict' : 'mljs.run',
    ...('pipelines' in job || 'model' in job ? {} : { pipeline }),
    ...('datasets' in job ? {} : { dataset }),
    ...job,
  });

  it('may stand at every level of the schema', () => {
    assert.ok(all.length >= 20, String(all.length));
    assert.ok(all.some(({ names }) => names.includes('max_attempts')));
    assert.ok(all.some(({ words }) => words.includes('inline_json')));
  });

  it('in the name of a member is reported with the member that was meant, at every level', () => {
    for (const { names, put } of all) {
      for (const name of names) {
        // A word of one letter is no misspelling of another one.
        const typos = misspelt(name).filter((text) => text.length > 1 && !names.includes(text));
        for (const wrong of typos) {
          const job = whole(put({ [wrong]: 'x', [name]: undefined }));
          const told = said(JSON.parse(JSON.stringify(job)));
          const meant = told.filter((text) => new RegExp(`'([a-z]+\\.)?${wrong}'`).test(text));
          assert.ok(meant.length > 0, `${wrong}: ${told}`);
          for (const text of meant) assert.match(text, /did you mean '[\w.]+'\?$/, text);
        }
      }
    }
  });

  it('among words of a closed set is reported with the word that was meant', () => {
    for (const { words, put } of all) {
      for (const word of words) {
        for (const wrong of misspelt(word)) {
          if (words.includes(wrong)) continue;
          const told = said(whole(put(wrong)));
          assert.ok(
            told.some((text) => text.endsWith(`did you mean '${word}'?`)),
            `${wrong}: ${told}`,
          );
        }
      }
    }
  });

  it('in the place of a required member is reported with that member', () => {
    assert.deepEqual(said({ ...base, dataset: { kind: 'shared_path', pth: 'x' } }), [
      "/dataset/path is required; 'pth' is unknown, did you mean 'path'?",
    ]);
    assert.deepEqual(
      said({ ...base, pipeline: undefined, pipelines: [pipeline, { knd: 'path', path: 'x' }] }),
      [
        "/pipelines/1/kind must be one of: path, artifact, inline_json, python_entrypoint; 'knd' is unknown, did you mean 'kind'?",
      ],
    );
    assert.deepEqual(said({ type: 'mljs.run', piplines: [pipeline], datset: dataset }), [
      "/pipeline is required (or 'pipelines' for several); 'piplines' is unknown, did you mean 'pipelines'?",
      "/dataset is required (or 'datasets' for several); 'datset' is unknown, did you mean 'dataset'?",
    ]);
  });

  it('that is like no other word is reported without a guess, however many there are', () => {
    assert.deepEqual(said({ ...base, dataset: { kind: 'xyzzy' } }), [
      '/dataset/kind must be one of: shared_path, artifact, catalog, worker_local',
    ]);
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`${i}${'x'.repeat(50)}`, 1]));
    assert.deepEqual(said({ type: 'mljs.run', ...many, dataset, pipeline: { kind: 'path', ...many } }), [
      '/pipeline/path is required',
    ]);
  });
});
