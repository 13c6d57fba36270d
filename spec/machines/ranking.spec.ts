import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { grouped } from '../../machines/ranking/failures.ts';
import { describePipelines } from '../../machines/ranking/steps.ts';
import { aligned, metricIn, otherWinner, rankMetricOf, shownMetrics } from '../../machines/ranking/table.ts';
import type { Aggregate, RankingEntry } from '../../machines/schema/views.ts';

const inline = (...pipelines: unknown[]) => pipelines.map((one) => ({ kind: 'inline_json', inline: one }));
const one = (pipeline: unknown) => describePipelines(inline(pipeline))[0];

describe('the description of an inline pipeline', () => {
  it('names its steps in their order, with their options', () => {
    assert.equal(
      one(['snv', { pls: { components: 5 } }, { cross_validation: { folds: 5 } }]),
      'snv » pls(components=5) » cross_validation(folds=5)',
    );
    assert.equal(one({ steps: [{ pls: { components: { from: 1, to: 6 } } }] }), 'pls(components=1..6)');
    assert.equal(one([{ pls: 5 }, { center: null }, { msc: {} }]), 'pls(5) » center » msc');
    assert.equal(one({ name: 'PLS of Ann', steps: ['snv'] }), 'PLS of Ann');
    assert.equal(one('a.b.Model'), 'Model');
    assert.equal(one(7), '7');
  });

  it('names classes of a library by their own name, and what a model is', () => {
    const pls = { class: 'sklearn.cross_decomposition.PLSRegression', params: { n_components: 4 } };
    const folds = { class: 'sklearn.model_selection.KFold', params: { n_splits: 5 } };
    assert.equal(
      one(['sklearn.preprocessing.MinMaxScaler', folds, { model: pls }]),
      'MinMaxScaler » KFold(n_splits=5) » PLSRegression(n_components=4)',
    );
    assert.equal(
      one([{ y_processing: { class: 'a.b.Scaler' } }, { model: pls, finetune_params: { n_trials: 3 } }]),
      'y_processing: Scaler » PLSRegression(n_components=4) + finetune_params(n_trials…',
    );
    assert.equal(
      one([{ _or_: [{ class: 'a.Snv' }, { class: 'a.Msc' }], _comment: 'x' }]),
      '_or_([Snv, Msc])',
    );
  });

  it('distinguishes long ones by leaving out what all have in common', () => {
    const long = (components: number) => [
      { savitzky_golay: { window: 11, polynomial: 2, derivative: 1 } },
      { cross_validation: { leave_one_out: true } },
      { pls: { components } },
    ];
    assert.deepEqual(describePipelines(inline(long(3), long(4))), [
      '… » pls(components=3)',
      '… » pls(components=4)',
    ]);
    const alone = one(long(3)) ?? '';
    assert.match(alone, /^savitzky_golay\(window=11, polynomial=2, derivative=1\) » cross_val.*…$/);
    assert.ok(alone.length <= 80);
    const [same] = describePipelines(inline(long(3), long(3)));
    assert.equal(same, alone, 'nothing is left out where nothing differs');
  });

  it('is empty for a pipeline that has a name, or a label of its own', () => {
    const refs = [
      { kind: 'path', path: '/a.yaml' },
      { kind: 'inline_json', inline: ['snv'], name: 'mine' },
      { kind: 'inline_json', inline: ['snv'] },
      { kind: 'inline_json', inline: [] },
    ];
    assert.deepEqual(describePipelines(refs), [null, null, 'snv', null]);
  });

  it('is short, in one line and whole characters, whatever the pipeline', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 5000; i++) deep = [{ a: deep }];
    const texts = [
      deep,
      Array.from({ length: 100_000 }, (_, i) => i),
      Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, { a: 1 }])),
      `${'x'.repeat(38)}😀😀${'y'.repeat(100)}`,
      'a\n b\t\tc',
    ].map((pipeline) => one(pipeline) ?? '');
    for (const text of texts) {
      assert.ok(text.length > 0 && text.length <= 80, text);
      assert.doesNotMatch(text, /[\n\t]|\p{Cs}/u);
    }
    assert.equal(texts.at(-1), 'a b c');
  });
});

const entry = (task_id: string, metrics: Record<string, unknown>, rankMetric = 'best_rmse'): RankingEntry =>
  ({ task_id, dataset: 'd', pipeline: 'p', [rankMetric]: metrics[rankMetric] ?? null, metrics }) as never;

describe('the metrics of a ranking', () => {
  it('are the one that ranks, then the usual ones, then the others, where there are numbers', () => {
    const entries = [
      entry('a', { odd: 1, cv_rmse: 2, best_rmse: 1, best_r2: null, components: 3 }),
      entry('b', { best_rmse: 2, cv_rmse: 3, best_accuracy: 'high' }),
    ];
    assert.deepEqual(shownMetrics(entries, 'best_rmse', 9), ['best_rmse', 'cv_rmse', 'components', 'odd']);
    assert.deepEqual(shownMetrics(entries, 'best_rmse', 2), ['best_rmse', 'cv_rmse']);
  });

  it('of a prediction begin with those that the handbook names, however many its library reports', () => {
    const reported = { rmse: 1, mse: 2, mae: 3, r2: 4, mape: 5, max_error: 6, bias: 7, sep: 8 };
    assert.deepEqual(shownMetrics([entry('a', reported)], 'rmse', 5), ['rmse', 'r2', 'mae', 'bias', 'mse']);
  });

  it('are not repeated where one says the same as another in every row', () => {
    const same = (value: number) => ({
      best_rmse: value,
      best_score: value,
      cv_rmse: value,
      components: value,
    });
    const entries = [entry('a', same(1)), entry('b', same(2))];
    assert.deepEqual(shownMetrics(entries, 'best_rmse', 9), ['best_rmse', 'components']);
    entries.push(entry('c', { ...same(3), best_score: 4 }));
    assert.deepEqual(shownMetrics(entries, 'best_rmse', 9), ['best_rmse', 'best_score', 'components']);
  });

  it('are found under their own name in the entry, or among its metrics', () => {
    const found = entry('a', { task_id: 5, x: 1, y: Number.NaN });
    assert.deepEqual(
      ['task_id', 'x', 'y', 'z'].map((name) => metricIn(found, name)),
      [5, 1, null, null],
    );
  });

  it('have the name that the server gives, or else the one in the entries', () => {
    const ranking = [entry('a', { best_q2: 1 }, 'best_q2')];
    assert.equal(rankMetricOf({ ranking, rank_metric: 'cv_rmse' } as Aggregate), 'cv_rmse');
    assert.equal(rankMetricOf({ ranking } as unknown as Aggregate), 'best_q2');
    assert.equal(rankMetricOf({ ranking: [] } as unknown as Aggregate), 'metric');
  });

  it('have the same number of decimals within a column', () => {
    assert.deepEqual(aligned([0.21043, 12.5, null, 1], '-'), ['0.2104', '12.5000', '-', '1.0000']);
    assert.deepEqual(aligned([123.456, 99.94], '-'), ['123.46', '99.94']);
    assert.deepEqual(aligned([3, 12, -1], '-'), ['3', '12', '-1']);
    assert.deepEqual(aligned([0.5, 0, 1e-9], '-'), ['0.500000', '0.000000', '1.000e-9']);
    assert.deepEqual(aligned([1e12, 0.5], '-'), ['1.000e+12', '0.5000']);
    assert.deepEqual(aligned([0], '-'), ['0']);
    assert.deepEqual(aligned([null], '-'), ['-']);
  });
});

describe('the best by validation and the best by cross-validation', () => {
  const name = ({ task_id }: RankingEntry) => task_id;
  const said = (metric: string, ...metrics: Record<string, unknown>[]) =>
    otherWinner(
      metrics.map((one, i) => entry(`task ${i}`, one, metric)),
      metric,
      name,
    );

  it('are both named where they differ', () => {
    assert.equal(
      said('best_rmse', { best_rmse: 1, cv_rmse: 0.31 }, { best_rmse: 2, cv_rmse: 0.25 }, { best_rmse: 3 }),
      'the best by best_rmse is not the best by cv_rmse: there it is task 1 with 0.2500, against 0.3100',
    );
    assert.match(
      said('cv_r2', { cv_r2: 0.9, best_r2: 0.5 }, { cv_r2: 0.8, best_r2: 0.7 }) ?? '',
      /best_r2.*task 1/,
    );
    assert.match(
      said('best_score', { best_score: 1, cv_best_score: 4 }, { best_score: 2, cv_best_score: 3 }) ?? '',
      /cv_best_score.*task 1/,
    );
  });

  it('are not named where they agree, are equal, or one of them was not reported', () => {
    assert.equal(said('best_rmse', { best_rmse: 1, cv_rmse: 1 }, { best_rmse: 2, cv_rmse: 2 }), null);
    assert.equal(said('best_rmse', { best_rmse: 1, cv_rmse: 2 }, { best_rmse: 2, cv_rmse: 2 }), null);
    assert.equal(said('best_rmse', { best_rmse: 1 }, { best_rmse: 2, cv_rmse: 2 }), null);
    assert.equal(
      said('best_rmse', { best_rmse: 1, cv_rmse: 2 }, { cv_rmse: 1 }),
      null,
      'the other is unranked',
    );
    assert.equal(said('best_rmse'), null);
  });
});

describe('the failures of a job', () => {
  it('are grouped where they say the same, the most frequent first', () => {
    const told = ['a', 'b', 'a', 'a'].map((text, i) => [text, i] as const);
    assert.deepEqual(grouped(told), [
      { text: 'a', members: [0, 2, 3] },
      { text: 'b', members: [1] },
    ]);
  });

  it('count as the same where they differ only by ids', () => {
    const text = (id: string) => `no file /state/tasks/${id}/x.csv`;
    assert.deepEqual(grouped([[text('task_01k9aaaaaaaa'), 1]]), [
      { text: text('task_01k9aaaaaaaa'), members: [1] },
    ]);
    assert.deepEqual(
      grouped([text('task_01k9aaaaaaaa'), text('task_01k9bbbbbbbb')].map((one, i) => [one, i])),
      [{ text: text('task_…'), members: [0, 1] }],
    );
  });
});
