import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { describeWithLibrary } from './python.ts';
import {
  callDirectly,
  type Ended,
  GASOLINE,
  GASOLINE_COMMA,
  pipelineFile,
  runTask,
  type TaskInput,
  writePipeline,
} from './support.ts';

// Neither the split nor the model has a seed of its own: only the random_state of the call makes it repeatable.
const unseeded = writePipeline([
  { class: 'sklearn.preprocessing.StandardScaler' },
  { class: 'sklearn.model_selection.ShuffleSplit', params: { n_splits: 3, test_size: 0.25 } },
  { model: { class: 'sklearn.ensemble.RandomForestRegressor', params: { n_estimators: 10 } } },
]);
const params = { random_state: 42 };

const tasks = {
  'a scaler and PLS': { pipeline: pipelineFile('scaled-pls'), dataset: GASOLINE, params },
  'a sweep of preprocessings': { pipeline: pipelineFile('preprocessing-sweep'), dataset: GASOLINE, params },
  'a random forest': { pipeline: pipelineFile('random-forest'), dataset: GASOLINE, params },
  'a random forest seeded by the call alone': {
    pipeline: unseeded,
    dataset: GASOLINE,
    params: { random_state: 7, refit: false },
  },
  'samples without a validation set, separated by commas': {
    pipeline: pipelineFile('scaled-pls'),
    dataset: GASOLINE_COMMA,
    params: { random_state: 42, verbose: 0 },
  },
} satisfies Record<string, TaskInput>;
type Name = keyof typeof tasks;
const names = Object.keys(tasks) as Name[];

/** What the caller of the library has to say for a folder that it would not read by itself. */
const asTheLibraryTakesIt = (dataset: string) =>
  dataset === GASOLINE_COMMA ? { folder: dataset, global_params: { delimiter: ',' } } : dataset;

describeWithLibrary(
  'the scores of a task are those of calling nirs4all directly, to the last digit',
  (runner) => {
    let direct: Record<Name, Record<string, number | null>>;
    const ended = new Map<Name, Ended>();

    before(async () => {
      const runs = names.map((name) => {
        const { pipeline, dataset, params } = tasks[name];
        return [name, { pipeline, dataset: asTheLibraryTakesIt(dataset), params }] as const;
      });
      const calls = callDirectly<Name>(runner, Object.fromEntries(runs) as never);
      await Promise.all(
        names.map(async (name) => {
          const wanted = name === 'a sweep of preprocessings' || name === names[3];
          ended.set(name, await runTask(runner, { ...tasks[name], outputs: { export_best_model: wanted } }));
        }),
      );
      direct = await calls;
    });

    for (const name of names) {
      it(name, () => {
        const end = ended.get(name) as Ended;
        assert.equal(end.code, 0, end.stderr);
        const { metrics, counts } = end.result();
        const { num_predictions, ...scores } = direct[name];
        const told = Object.fromEntries(Object.keys(scores).map((score) => [score, metrics?.[score]]));
        assert.deepEqual(told, scores);
        assert.equal(counts?.num_predictions, num_predictions);
        assert.ok((scores.cv_rmse as number) > 0);
      });
    }
  },
);
