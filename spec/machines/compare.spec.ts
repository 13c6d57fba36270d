import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bestOfJob,
  type ComparedJob,
  chooseMetric,
  commonMetrics,
  sideBySide,
  winnerOf,
} from '../../machines/results/compare.ts';
import { artifactsIn, differencesOf } from '../../machines/results/spec-diff.ts';
import type { RankingEntry } from '../../machines/schema/views.ts';
import { aJob } from '../cli/fake-server.ts';

const entry = (pipeline: string, metrics: Record<string, number>, dataset = 'corn'): RankingEntry => ({
  ...{ task_id: `task_${pipeline}`, pipeline, dataset, metrics },
});
const compared = (ranking: RankingEntry[], request = '{}', versions = ['mljs 1']): ComparedJob => ({
  job: aJob({}, { ranking, rank_metric: 'best_rmse' }),
  ...{ request, versions, results: [] },
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
  });

  it('are by what the others report where one has failed and reports nothing', () => {
    const a = compared([entry('pls', { best_rmse: 1, mae: 2 })]);
    const b = compared([entry('pls', { best_rmse: 2 })]);
    assert.deepEqual(commonMetrics([compared([]), a, b]), ['best_rmse']);
    assert.deepEqual(commonMetrics([compared([]), compared([])]), []);
    assert.deepEqual(sideBySide([compared([]), a], 'best_rmse')[0]?.values, [null, 1]);
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

  it('have that value as the best which the jobs themselves rank first, whatever the metric is called', () => {
    const gains = (...values: number[]) =>
      compared(values.map((best_rmse, i) => entry(`p${i}`, { best_rmse })));
    const jobs = [gains(0.5), gains(0.9, 0.1), gains(0.8, 0.2)];
    const choice = chooseMetric(jobs, commonMetrics(jobs));
    assert.equal(choice.mode, 'max');
    assert.deepEqual(
      jobs.map((job) => bestOfJob(job, choice)),
      [0.5, 0.9, 0.8],
    );
    assert.deepEqual(sideBySide(jobs, 'best_rmse')[0]?.values, [0.5, 0.9, 0.8]);
  });
});

describe('the best of a row', () => {
  const row = (...values: (number | null)[]) => ({ pipeline: 'pls', dataset: 'corn', values });
  const winner = (isAlike: boolean, ...values: (number | null)[]) =>
    winnerOf(row(...values), { mode: 'min', isAlike });

  it('is one of several that were measured alike, and not what stands there alone', () => {
    assert.equal(winner(true, 2, null, 1), 1);
    assert.equal(winner(true, null, 1), null);
    assert.equal(winner(false, 2, 1), null);
  });
});

describe('the metric by which jobs are compared', () => {
  const measured = (extra: Record<string, unknown>, metrics: Record<string, number>): ComparedJob => ({
    ...compared([entry('pls', metrics)]),
    results: [{ extra, metrics }],
  });
  const crossValidated = measured({ validation: 'k_fold' }, { best_rmse: 0.2, cv_rmse: 0.2 });
  const tested = measured({}, { best_rmse: 0.1, cv_rmse: 0.3 });

  it('is one that all measured alike, where the first is of cross-validation in one and of test samples in another', () => {
    const jobs = [crossValidated, tested];
    const choice = chooseMetric(jobs, commonMetrics(jobs));
    assert.deepEqual([choice.metric, choice.isAlike], ['cv_rmse', true]);
    assert.equal(
      choice.warning,
      'best_rmse is not the same in all of them: A of cross-validation, B of test samples; compared by cv_rmse instead',
    );
  });

  it('is the one that is asked for, or the only one, with a warning where it is of different samples', () => {
    const asked = chooseMetric([crossValidated, tested], ['best_rmse', 'cv_rmse'], 'best_rmse');
    assert.deepEqual([asked.metric, asked.isAlike], ['best_rmse', false]);
    assert.deepEqual(asked.measured, [['cross-validation'], ['test samples']]);
    assert.match(asked.warning ?? '', /cv_rmse can be compared$/);
    const only = measured({ validation: 'test_set' }, { best_rmse: 0.1 });
    const choice = chooseMetric([crossValidated, only], ['best_rmse']);
    assert.deepEqual([choice.metric, choice.isAlike], ['best_rmse', false]);
    assert.match(choice.warning ?? '', /A of cross-validation, B of test samples$/);
  });

  it('is the first, without a warning, where all measured it alike or do not say on what', () => {
    for (const jobs of [
      [tested, tested],
      [tested, measured({}, { best_rmse: 2 })],
      [compared([]), tested],
    ]) {
      const choice = chooseMetric(jobs, ['best_rmse', 'cv_rmse']);
      assert.deepEqual([choice.metric, choice.isAlike, choice.warning], ['best_rmse', true, null]);
    }
    assert.equal(chooseMetric([compared([])], []).metric, undefined);
  });
});

describe('what differs between specifications', () => {
  it('has the type also of a job that names none', () => {
    const of = (type: string, request: string): ComparedJob => ({
      ...compared([], request, []),
      job: aJob({ type }),
    });
    const differences = differencesOf([of('mljs.run', '{"type":"mljs.run"}'), of('nirs4all.run', '{}')]);
    assert.deepEqual(differences, [{ what: 'type', values: ['"mljs.run"', '"nirs4all.run"'] }]);
  });

  it('is told member by member also where a third job has no such pipeline', () => {
    const [fine, coarse] = [inline('snv', '[{"w":15}]'), inline('snv', '[{"w":11}]')];
    const other = `{"pipelines":[${inline('pls', '[1]')},${inline('msc', '[1]')}]}`;
    const told = diff(`{"pipelines":[${fine}]}`, `{"pipelines":[${coarse}]}`, other);
    assert.deepEqual(told['pipeline snv › inline.steps[0].w'], ['15', '11', null]);
    assert.equal(told['pipeline snv'], undefined);
  });

  it('is the part that differs where each job has one pipeline or dataset, however long and whatever it is called', () => {
    const long = `"${'x'.repeat(300)}"`;
    const unnamed = (n: number) =>
      `{"pipeline":{"kind":"inline_json","inline":{"steps":[${long},{"n":${n}}]}},"dataset":{"kind":"shared_path","path":"/${n}"}}`;
    assert.deepEqual(diff(unnamed(10), unnamed(12)), {
      'pipeline › inline.steps[1].n': ['10', '12'],
      'dataset › path': ['"/10"', '"/12"'],
    });
  });

  it('leaves out none of several pipelines that are called the same', () => {
    const twice = (a: number, b: number) =>
      `{"pipelines":[${inline('snv', `[${a}]`)},${inline('snv', `[${b}]`)}]}`;
    assert.deepEqual(diff(twice(1, 2), twice(3, 2)), { 'pipeline snv › inline.steps[0]': ['1', '3'] });
  });

  it('is told by the steps of pipelines where they are of several libraries', () => {
    const of = (type: string, steps: string) => {
      const job = compared(
        [],
        `{"type":"${type}","pipeline":{"kind":"inline_json","name":"snv","inline":${steps}}}`,
      );
      return { ...job, job: { ...job.job, type } };
    };
    const model =
      '{"model":{"class":"sklearn.cross_decomposition.PLSRegression","params":{"n_components":3}}}';
    const found = differencesOf([
      of('mljs.run', '["snv",{"pls":{"components":3}}]'),
      of('nirs4all.run', `[{"class":"nirs4all.operators.transforms.StandardNormalVariate"},${model}]`),
    ]);
    assert.deepEqual(found.find(({ what }) => what === 'pipeline snv')?.values, [
      'snv » pls(components=3)',
      'StandardNormalVariate » PLSRegression(n_components=3)',
    ]);
  });

  it('is told as it was written, member by member', () => {
    assert.deepEqual(
      diff('{"params":{"a":1.0,"b":[1,2],"c":1}}', '{"params":{"a":1,"b":[1,3],"d":null,"c":1}}'),
      { 'params.a': ['1.0', '1'], 'params.b[1]': ['2', '3'], 'params.d': [null, 'null'] },
    );
    assert.deepEqual(
      diff('{"reuse":true,"name":"a","idempotency_key":"x"}', '{"reuse":null,"name":"b","note":"n"}'),
      { reuse: ['true', null] },
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
      'pipeline snv': [null, 'w(15)'],
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
          ['art_1', { sha256: 'f'.repeat(64), filename: 'corn.zip' }],
          ['art_2', { sha256: 'f'.repeat(64), filename: 'again.zip' }],
        ]),
      ),
      [],
    );
    assert.deepEqual(differencesOf(jobs)[0]?.values, ['"art_1"', '"art_2"']);
    assert.deepEqual(artifactsIn(`${data('art_1')} {"bundle_artifact_id": "art_3"}`), ['art_1', 'art_3']);
  });

  it('has data by the names and hashes of their files', () => {
    const data = (name: string, id: string) =>
      `{"dataset":{"kind":"artifact","name":"${name}","artifact_id":"${id}","interpolate":true}}`;
    const contents = new Map([
      ['art_1', { sha256: 'a'.repeat(64), filename: 'corn.zip' }],
      ['art_2', { sha256: 'b'.repeat(64), filename: null }],
    ]);
    const told = (...requests: string[]) =>
      differencesOf(
        requests.map((request) => compared([], request)),
        contents,
      );
    assert.deepEqual(told(data('corn', 'art_1'), data('corn', 'art_2')), [
      {
        what: 'dataset corn › artifact_id',
        values: ['corn.zip (sha256 aaaaaaaaaaaa)', 'sha256 bbbbbbbbbbbb'],
      },
    ]);
    assert.deepEqual(told(data('corn', 'art_1'), '{}'), [
      { what: 'dataset corn', values: ['artifact corn.zip (sha256 aaaaaaaaaaaa) interpolate=true', null] },
    ]);
  });

  it('is never cut off: pipelines that only some jobs have are shown with all of their steps', () => {
    const model = (n: number) =>
      `{"model":{"class":"sklearn.cross_decomposition.PLSRegression","params":{"n_components":${n}}}}`;
    const folds =
      '{"class":"sklearn.model_selection.RepeatedKFold","params":{"n_splits":5,"random_state":7}}';
    const of = (name: string, n: number) => inline(name, `["snv",${folds},${folds},${model(n)}]`);
    const told = diff(
      `{"pipelines":[${of('pls4', 4)},${inline('msc', '["msc"]')}]}`,
      `{"pipelines":[${of('pls6', 6)},${inline('msc', '["msc"]')}]}`,
    );
    for (const [name, place, n] of [
      ['pls4', 0, 4],
      ['pls6', 1, 6],
    ] as const)
      assert.match(
        told[`pipeline ${name}`]?.[place] ?? '',
        new RegExp(`^snv » RepeatedKFold.*» PLSRegression\\(n_components=${n}\\)$`),
      );
  });

  it('is as it is written where the words for it would be the same', () => {
    const many = (last: number) =>
      `[{"step":{${'abcdefghi'
        .split('')
        .map((key) => `"${key}":${key === 'i' ? last : 0}`)
        .join()}}}]`;
    const of = (type: string, last: number) => {
      const job = compared([], `{"type":"${type}","pipeline":${inline('a', many(last))}}`);
      return { ...job, job: { ...job.job, type } };
    };
    const [, found] = differencesOf([of('mljs.run', 1), of('nirs4all.run', 2)]);
    assert.match(found?.values[0] ?? '', /"i":1/);
    assert.match(found?.values[1] ?? '', /"i":2/);
  });

  it('has the versions of the library that computed the results', () => {
    const jobs = [compared([], '{}', ['mljs 1']), compared([], '{}', ['mljs 2', 'mljs 1'])];
    assert.deepEqual(differencesOf(jobs), [{ what: 'library', values: ['mljs 1', 'mljs 1, mljs 2'] }]);
  });
});
