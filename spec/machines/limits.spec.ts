import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bytesOf, cutText, fitObject, LIMITS } from '../../machines/protocol/limits.ts';
import { digestResult, metricsWith } from '../../machines/report/digest.ts';
import { boundedEvent, boundedFailure, boundedResult } from '../../machines/report/limits.ts';
import { MOST_FAULTS, validator } from '../../machines/schema/validate.ts';
import { WorkerRegistration } from '../../machines/schema/worker.ts';
import { unknownMembers } from '../../machines/submission/submission.ts';
import { base, faults, jobFaults } from './job-check.ts';

const checkWorker = validator(WorkerRegistration);
const tooLong = (path: string, most: number) => [`${path} must not have more than ${most} characters`];
const map = (count: number, value: unknown = '1') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, value]));

describe('a submission within the limits is accepted, and one beyond them is refused by the name of the member', () => {
  it('may have texts of a limited number of characters, however many bytes those take', () => {
    const name = '🜁'.repeat(1000);
    assert.deepEqual(jobFaults({ name }), []);
    assert.deepEqual(jobFaults({ name: `${name}x` }), tooLong('/name', 1000));
    const type = (length: number) => `${'a'.repeat(length - 4)}.run`;
    assert.deepEqual(jobFaults({ type: type(100) }), []);
    assert.deepEqual(jobFaults({ type: type(101) }), tooLong('/type', 100));
    assert.deepEqual(jobFaults({ type: type(15_000_000) }), tooLong('/type', 100));
  });

  it('may have labels and constraints of a limited number of characters, and at most 200 of each', () => {
    for (const [member, path] of [
      ['labels', '/requirements/labels'],
      ['packages', '/requirements/packages'],
    ] as const) {
      const constraint = `==${'1'.repeat(998)}`;
      const ask = (asked: object) => jobFaults({ requirements: { [member]: asked } });
      assert.deepEqual(ask({ ...map(199, '==1'), ['k'.repeat(200)]: constraint }), []);
      assert.deepEqual(ask({ a: `${constraint}1` }), tooLong(`${path}/a`, 1000));
      const long = 'k'.repeat(201);
      assert.deepEqual(ask({ [long]: '==1' }), tooLong(`${path}/${long}`, 200));
      assert.deepEqual(ask(map(201)), [`${path} must not have more than 200 properties`]);
    }
    assert.deepEqual(jobFaults({ requirements: { capabilities: map(201, true) } }).length, 1);
  });

  it('has a limit for every other text that a view shows', () => {
    const long = 'x'.repeat(100_000);
    const kinds = [
      { dataset: { ...base.dataset, name: long } },
      { dataset: { kind: 'artifact', artifact_id: 'art_1', name: long } },
      { dataset: { kind: 'artifact', artifact_id: long } },
      { dataset: { kind: 'catalog', catalog_id: long } },
      { dataset: { kind: 'worker_local', name: long } },
      { dataset: { kind: 'worker_local', path: long } },
      { dataset: { kind: 'shared_path', path: long } },
      { pipeline: { kind: 'path', path: long } },
      { pipeline: { ...base.pipeline, name: long } },
      { pipeline: { kind: 'artifact', artifact_id: long } },
      { pipeline: { kind: 'python_entrypoint', entrypoint: long } },
      { pipeline: { kind: 'python_entrypoint', entrypoint: 'a:b', bundle_artifact_id: long } },
      { rank_metric: long },
      { idempotency_key: long },
    ];
    for (const kind of kinds) {
      const found = jobFaults(kind);
      assert.equal(found.length, 1, JSON.stringify(kind).slice(0, 100));
      assert.match(found[0] as string, /must not have more than \d+ characters$/);
    }
  });

  it('gets all faults at once, up to a limit', () => {
    const found = jobFaults({ name: 'x'.repeat(1001), requirements: { labels: map(201) }, priority: 'x' });
    assert.equal(found.length, 3);
    const locals = Array.from({ length: 5000 }, () => ({ kind: 'worker_local' }));
    assert.equal(jobFaults({ dataset: undefined, datasets: locals }).length, MOST_FAULTS);
  });

  it('gets warnings of 50 unknown fields, and of the rest only their number', () => {
    const spec = (count: number) => ({ ...base, ...map(count) }) as never;
    assert.equal(unknownMembers(spec(50)).length, 50);
    const warnings = unknownMembers(spec(500_000));
    assert.deepEqual([warnings.length, warnings.at(-1)], [51, 'and 499950 more unknown fields']);
    assert.equal(unknownMembers(spec(51)).at(-1), 'and 1 more unknown field');
    // One that every pipeline has is one.
    const pipelines = Array.from({ length: 100 }, () => ({ ...base.pipeline, colour: 'red' }));
    const both = { ...map(60), type: base.type, pipelines, dataset: base.dataset } as never;
    assert.equal(unknownMembers(both).at(-1), 'and 11 more unknown fields');
  });
});

describe('a registration', () => {
  it('has labels within the limits of labels, and a name within those of names', () => {
    assert.deepEqual(faults(checkWorker, { name: 'x'.repeat(1000), labels: map(200) }), []);
    assert.deepEqual(faults(checkWorker, { name: 'x'.repeat(1001) }), tooLong('/name', 1000));
    assert.deepEqual(faults(checkWorker, { labels: map(201) }).length, 1);
    assert.deepEqual(faults(checkWorker, { labels: { a: 'x'.repeat(1001) } }), tooLong('/labels/a', 1000));
  });

  it('declares 256 KiB at most, in bytes of UTF-8', () => {
    const capabilities = { notes: 'é'.repeat(60_000) };
    const version = { packages: { demo: '1'.repeat(120_000) } };
    assert.deepEqual(faults(checkWorker, { capabilities, version }), []);
    const packages = { demo: '1'.repeat(142_200) };
    assert.deepEqual(faults(checkWorker, { capabilities, version: { packages } }), [
      '/version capabilities, version and labels take 262236 bytes together; at most 262144 are allowed',
    ]);
  });
});

describe('a text that is too long for a report', () => {
  const anyText = fc.string({ unit: 'grapheme', maxLength: 400 });

  it('keeps its beginning and says how much was left out', () => {
    const cut = cutText('x'.repeat(20_000), 1000);
    assert.match(cut, /^x{936}… \(19064 more bytes were left out\)$/);
    assert.equal(cutText('x'.repeat(1000), 1000), 'x'.repeat(1000));
  });

  it('is never longer than its limit, and never cut within a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 64, max: 300 }), (text, most) => {
        const cut = cutText(text, most);
        assert.ok(Buffer.byteLength(cut) <= most);
        assert.doesNotMatch(cut, /\p{Cs}/u);
        if (Buffer.byteLength(text) <= most) return assert.equal(cut, text);
        const [, kept, left] = /^(.*)… \((\d+) more bytes were left out\)$/su.exec(cut) ?? [];
        assert.ok(kept !== undefined && text.startsWith(kept));
        assert.equal(Buffer.byteLength(kept) + Number(left), Buffer.byteLength(text));
      }),
    );
  });

  it('is counted as the wire counts it', () => {
    fc.assert(fc.property(anyText, (text) => assert.equal(bytesOf(text), Buffer.byteLength(text))));
  });
});

describe('an object that is too large for a report', () => {
  it('keeps the members that there is room for, and says which it lost', () => {
    const { value, leftOut } = fitObject({ a: 1, spectra: 'x'.repeat(10_000), b: 'y' }, 5000);
    assert.equal(leftOut, '1 member(s) of 10013 bytes: spectra');
    assert.deepEqual(value, { a: 1, b: 'y', left_out: leftOut });
  });

  it('is never larger than its limit, whatever its members are called', () => {
    const names = fc.string({ unit: 'grapheme', maxLength: 300 });
    const value = fc.dictionary(names, fc.oneof(fc.string({ maxLength: 3000 }), fc.double()), {
      maxKeys: 60,
    });
    fc.assert(
      fc.property(value, (members) => {
        const { value: kept, leftOut } = fitObject(members, 8000);
        assert.ok(Buffer.byteLength(JSON.stringify(kept)) <= 8000);
        if (leftOut === null) assert.deepEqual({ ...kept }, { ...members });
      }),
    );
  });
});

describe('what a worker reports is cut, never refused', () => {
  it('an error and a traceback', () => {
    const { error, traceback } = boundedFailure({ error: 'e'.repeat(1e6), traceback: 't'.repeat(1e6) });
    assert.deepEqual(
      [error.length < LIMITS.error, traceback && traceback.length < LIMITS.traceback],
      [true, true],
    );
    assert.match(error, /more bytes were left out\)$/);
    assert.deepEqual(boundedFailure({ error: 'short' }), { error: 'short' });
  });

  it("an event's type, message and data", () => {
    const event = { type: 't'.repeat(500), message: 'm'.repeat(1e6), data: { a: 'x'.repeat(1e6), b: 1 } };
    const cut = boundedEvent(event);
    assert.ok(
      Buffer.byteLength(cut.type ?? '') <= LIMITS.type &&
        Buffer.byteLength(cut.message ?? '') <= LIMITS.message,
    );
    assert.deepEqual(cut.data, { b: 1, left_out: '1 member(s) of 1000007 bytes: a' });
    assert.deepEqual(boundedEvent({ type: 'log' }), { type: 'log' });
  });
});

describe('a result', () => {
  const bounded = (result: object) => boundedResult({ status: 'succeeded', ...result });

  it('is kept as it is when it fits', () => {
    const result = {
      metrics: { best_rmse: 0.5, best_accuracy: null },
      counts: { num_predictions: 3 },
      artifacts: { model: 'art_1', workspace: null },
      extra: { seed: 1 },
      nirs4all_version: '0.1',
    };
    assert.deepEqual(bounded(result), { result: { status: 'succeeded', ...result }, notes: [] });
    assert.deepEqual(bounded({}), { result: { status: 'succeeded' }, notes: [] });
  });

  it('has what is no number moved from metrics and counts to extra, and says so', () => {
    const { result, notes } = bounded({
      metrics: { best_rmse: '0.5', best_r2: 0.9, folds: [1, 2], ok: true },
      counts: { n: 1, names: { a: 1 } },
      extra: { metrics: 'mine' },
    });
    assert.deepEqual(result, {
      status: 'succeeded',
      metrics: { best_r2: 0.9 },
      counts: { n: 1 },
      extra: {
        metrics: 'mine',
        metrics_: { best_rmse: '0.5', folds: [1, 2], ok: true },
        counts: { names: { a: 1 } },
      },
    });
    assert.equal(notes.length, 2);
    assert.match(notes[0] as string, /best_rmse, folds, ok/);
  });

  it('keeps 1,000 numbers of each, among them those that a job may rank by', () => {
    const ranking = ['best_rmse', 'cv_rmse', 'best_r2', 'cv_r2'];
    const ranked = Object.fromEntries(ranking.map((name, i) => [name, i]));
    const metrics = { ...map(1500, 0.5), ...ranked, ['m'.repeat(300)]: 1 };
    const { result } = bounded({ metrics, counts: map(1500, 1) });
    const digest = digestResult({ status: 'succeeded', metrics });
    for (const [names, most] of [
      [ranking, 1000],
      [['best_r2'], 997],
      [['m1', 'nowhere'], 996],
    ] as const) {
      assert.equal(Object.keys(metricsWith(digest, names) ?? {}).length, most);
    }
    const kept = metricsWith(digest, ranking) ?? {};
    assert.deepEqual(Object.fromEntries(ranking.map((name) => [name, kept[name]])), ranked);
    assert.equal(metricsWith(digest, ['nowhere'])?.best_rmse, undefined);
    assert.equal(Object.keys(result.extra?.metrics as object).length, 505);
    assert.equal(Object.keys(result.extra?.counts as object).length, 500);
  });

  it('leaves out what is beyond 1 MiB of extra and of unknown members', () => {
    const { result, notes } = bounded({
      extra: { small: 1, predictions: 'x'.repeat(2e6) },
      odd: 'x'.repeat(2e6),
    });
    const size = Buffer.byteLength(JSON.stringify(result));
    assert.ok(size < 4096, `${size} bytes`);
    assert.deepEqual(result.extra, { small: 1, left_out: '1 member(s) of 2000017 bytes: predictions' });
    assert.equal(notes.length, 2);
  });

  it('names a bounded number of artifacts', () => {
    const { result } = bounded({ artifacts: { ...map(2000, 'art_1'), model: 'art_2' } });
    assert.equal(Object.keys(result.artifacts ?? {}).length, 1000);
    assert.equal(result.artifacts?.model, 'art_2');
  });
});
