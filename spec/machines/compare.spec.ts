import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ComparedJob, commonMetrics, sideBySide } from '../../machines/results/compare.ts';
import { artifactsIn, differencesOf } from '../../machines/results/spec-diff.ts';
import type { RankingEntry } from '../../machines/schema/views.ts';
import { aJob } from '../cli/fake-server.ts';

const entry = (pipeline: string, metrics: Record<string, number>, dataset = 'corn'): RankingEntry => ({
  ...{ task_id: `task_${pipeline}`, pipeline, dataset, metrics },
});
const compared = (ranking: RankingEntry[], request = '{}', versions = ['mljs 1']): ComparedJob => ({
  job: aJob({}, { ranking, rank_metric: 'best_rmse' }),
  ...{ request, versions },
});
/** What differs between specifications, by what it is. */
const diff = (...requests: string[]) =>
  Object.fromEntries(
    differencesOf(requests.map((request) => compared([], request))).map(({ what, values }) => [what, values]),
  );
const inline = (name: string, steps: string) =>
  `{"kind":"inline_json","inline":{"name":"${name}","steps":${steps}}}`;

describe('rankings side by side', () => {
  it('are by a metric that all report, first by the one that the first job ranks by', () => {
    const a = compared([entry('pls', { best_rmse: 1, best_r2: 0.9, mae: 2 })]);
    const b = compared([entry('pls', { best_r2: 0.8, best_rmse: 2 })]);
    assert.deepEqual(commonMetrics([a, b]), ['best_rmse', 'best_r2']);
    assert.deepEqual(commonMetrics([a, compared([entry('pls', { mae: 1 })])]), ['mae']);
    assert.deepEqual(commonMetrics([a, compared([])]), []);
  });

  it('have what is called the same in one row, the row with the best value first', () => {
    const a = compared([entry('pls', { best_rmse: 3 }), entry('snv', { best_rmse: 4 }), entry('odd', {})]);
    const b = compared([
      entry('snv', { best_rmse: 1 }),
      entry('snv', { best_rmse: 2 }),
      entry('pls', { best_rmse: 9 }, 'rye'),
    ]);
    const rows = sideBySide([a, b], 'best_rmse');
    assert.deepEqual(
      rows.map(({ pipeline, dataset, values }) => [pipeline, dataset, ...values]),
      [
        ['snv', 'corn', 4, 1],
        ['pls', 'corn', 3, null],
        ['pls', 'rye', null, 9],
        ['odd', 'corn', null, null],
      ],
    );
    const first = sideBySide([compared([entry('a', { r2: 0.1 }), entry('b', { r2: 0.9 })])], 'r2')[0];
    assert.equal(first?.pipeline, 'b', 'of agreement the largest is best');
  });
});

describe('what differs between specifications', () => {
  it('is told as it was written, member by member', () => {
    assert.deepEqual(
      diff('{"params":{"a":1.0,"b":[1,2],"c":1}}', '{"params":{"a":1,"b":[1,3],"d":null,"c":1}}'),
      {
        'params.a': ['1.0', '1'],
        'params.b[1]': ['2', '3'],
        'params.d': [null, 'null'],
      },
    );
    assert.deepEqual(
      diff('{"reuse":true,"name":"a","idempotency_key":"x"}', '{"reuse":null,"name":"b","note":"n"}'),
      {
        reuse: ['true', null],
      },
    );
  });

  it('follows pipelines and datasets by what they are called, wherever they stand', () => {
    const [snv, other, pls] = [
      inline('snv', '[{"w":15}]'),
      inline('snv', '[{"w":11}]'),
      inline('pls', '[1]'),
    ];
    assert.deepEqual(diff(`{"pipelines":[${snv},${pls}]}`, `{"pipelines":[${pls},${other}]}`), {
      'pipeline snv › inline.steps[0].w': ['15', '11'],
    });
    assert.deepEqual(diff(`{"pipeline":${pls}}`, `{"pipelines":[${pls},${snv}]}`), {
      'pipeline snv': [null, snv],
    });
    const data = (path: string) => `{"dataset":{"kind":"shared_path","name":"corn","path":"${path}"}}`;
    assert.deepEqual(diff(data('/a'), data('/b')), { 'dataset corn › path': ['"/a"', '"/b"'] });
  });

  it('is nothing where equal bytes were uploaded twice', () => {
    const data = (id: string) => `{"dataset":{"kind":"artifact","name":"corn","artifact_id":"${id}"}}`;
    const jobs = [data('art_1'), data('art_2')].map((request) => compared([], request));
    assert.deepEqual(
      differencesOf(
        jobs,
        new Map([
          ['art_1', 'f'.repeat(64)],
          ['art_2', 'f'.repeat(64)],
        ]),
      ),
      [],
    );
    assert.deepEqual(differencesOf(jobs)[0]?.values, ['"art_1"', '"art_2"']);
    assert.deepEqual(artifactsIn(`${data('art_1')} {"bundle_artifact_id": "art_3"}`), ['art_1', 'art_3']);
  });

  it('has the versions of the library that computed the results', () => {
    const jobs = [compared([], '{}', ['mljs 1']), compared([], '{}', ['mljs 2', 'mljs 1'])];
    assert.deepEqual(differencesOf(jobs), [{ what: 'library', values: ['mljs 1', 'mljs 1, mljs 2'] }]);
  });
});
