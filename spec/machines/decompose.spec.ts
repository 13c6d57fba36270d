import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DatasetRef, JobSpec, PipelineRef, Requirements } from '../../machines/schema/job.ts';
import { libraryOf } from '../../machines/schema/job-types.ts';
import { matrixOf, numTasks, planAt, settingsOf } from '../../machines/submission/decompose.ts';

const path = (name: string): PipelineRef => ({ kind: 'path', path: name });
const shared = (name: string): DatasetRef => ({ kind: 'shared_path', path: name });
const spec = (changes: Partial<JobSpec>): JobSpec => ({ type: 'mljs.run', ...changes });
function decompose(whole: JobSpec) {
  const matrix = matrixOf(whole);
  return Array.from({ length: numTasks(matrix) }, (_, place) => {
    const { requirement, ...plan } = planAt(matrix, place);
    return { ...plan, requirements: matrix.requirements[requirement] as Requirements };
  });
}
const only = (changes: Partial<JobSpec>) => {
  const tasks = decompose(spec({ pipeline: path('p.yaml'), dataset: shared('d'), ...changes }));
  assert.equal(tasks.length, 1);
  return tasks[0] as NonNullable<(typeof tasks)[0]>;
};
const pipelineLabel = (pipeline: PipelineRef) => only({ pipeline }).pipeline_label;
const datasetLabel = (dataset: object) => only({ dataset: dataset as DatasetRef }).dataset_label;
const requirements = (asked: Requirements | undefined, changes: Partial<JobSpec> = {}) =>
  only({ ...(asked && { requirements: asked }), ...changes }).requirements;

describe('the tasks of a job', () => {
  it('are one for each pipeline on each dataset: pipeline by pipeline, datasets in their order', () => {
    const tasks = decompose(
      spec({
        pipelines: [path('p.yaml'), path('q.yaml')],
        datasets: [shared('a'), shared('b'), shared('c')],
      }),
    );
    assert.deepEqual(
      tasks.map((task) => [task.pipeline, task.dataset, task.pipeline_label, task.dataset_label]),
      [
        [0, 0, 'p', 'a'],
        [0, 1, 'p', 'b'],
        [0, 2, 'p', 'c'],
        [1, 0, 'q', 'a'],
        [1, 1, 'q', 'b'],
        [1, 2, 'q', 'c'],
      ],
    );
  });

  it('are one when there is one of each', () => {
    const { pipeline, dataset } = only({});
    assert.deepEqual({ pipeline, dataset }, { pipeline: 0, dataset: 0 });
  });
});

describe('the label of a pipeline', () => {
  it('is the name that it was given, whatever its kind', () => {
    const name = 'PLS, 5 components';
    assert.equal(pipelineLabel({ kind: 'path', path: 'p.yaml', name }), name);
    assert.equal(pipelineLabel({ kind: 'artifact', artifact_id: 'art_1', name }), name);
    assert.equal(pipelineLabel({ kind: 'inline_json', inline: {}, name }), name);
    assert.equal(pipelineLabel({ kind: 'python_entrypoint', entrypoint: 'm', name }), name);
    assert.equal(pipelineLabel({ kind: 'path', path: 'p.yaml', name: '' }), 'p');
  });

  it('is the stem of its path', () => {
    for (const [name, label] of [
      ['/data/pls.yaml', 'pls'],
      ['pls', 'pls'],
      ['pls.v2.json', 'pls.v2'],
      ['C:\\pipelines\\snv.yml', 'snv'],
      ['.hidden', '.hidden'],
      ['/data/pls/', 'pls'],
      ['/', '/'],
    ] as const) {
      assert.equal(pipelineLabel(path(name)), label, name);
    }
  });

  it('is otherwise its entrypoint, or else its kind', () => {
    assert.equal(
      pipelineLabel({ kind: 'python_entrypoint', entrypoint: 'models.pls:build' }),
      'models.pls:build',
    );
    assert.equal(pipelineLabel({ kind: 'inline_json', inline: {} }), 'inline_json');
    assert.equal(pipelineLabel({ kind: 'artifact', artifact_id: 'art_1' }), 'artifact');
  });
});

describe('the label of a dataset', () => {
  it('is its name, else its path, else its id', () => {
    assert.equal(datasetLabel({ kind: 'shared_path', path: '/data/a', name: 'gasoline' }), 'gasoline');
    assert.equal(datasetLabel({ kind: 'shared_path', path: '/data/a' }), '/data/a');
    assert.equal(datasetLabel({ kind: 'shared_path', path: '/data/a', name: '' }), '/data/a');
    assert.equal(datasetLabel({ kind: 'worker_local', path: '/data/a', name: 'gasoline' }), 'gasoline');
    assert.equal(datasetLabel({ kind: 'worker_local', path: '/data/a' }), '/data/a');
    assert.equal(datasetLabel({ kind: 'artifact', artifact_id: 'art_1', name: 'gasoline' }), 'gasoline');
    assert.equal(datasetLabel({ kind: 'artifact', artifact_id: 'art_1' }), 'art_1');
    assert.equal(datasetLabel({ kind: 'catalog', catalog_id: 'gasoline@2' }), 'gasoline@2');
  });

  it('is text, whatever other members the dataset has', () => {
    assert.equal(datasetLabel({ kind: 'catalog', catalog_id: 'c', name: { deep: 1 }, path: 5 }), 'c');
    assert.equal(datasetLabel({ kind: 'artifact', artifact_id: 'art_1', path: ['x'] }), 'art_1');
  });
});

describe('what a task requires of a worker', () => {
  it('is what the job asks for, and the analysis library in any version', () => {
    assert.deepEqual(requirements(undefined), { packages: { mljs: '' } });
    assert.deepEqual(
      requirements({ labels: { site: 'a' }, min_memory_gb: 8, min_gpu_count: 1, packages: { numpy: '>=2' } }),
      { labels: { site: 'a' }, min_memory_gb: 8, min_gpu_count: 1, packages: { numpy: '>=2', mljs: '' } },
    );
    assert.deepEqual(requirements({ min_memory_gb: 0 }), { min_memory_gb: 0, packages: { mljs: '' } });
  });

  it('is the library in the version that the job pins', () => {
    assert.deepEqual(requirements({ packages: { mljs: '==1.2' } }), { packages: { mljs: '==1.2' } });
    assert.deepEqual(requirements({}, { type: 'nirs_lib.run' }), { packages: { nirs_lib: '' } });
    assert.equal(libraryOf('nirs_lib.run'), 'nirs_lib');
  });

  it('is the label of a named dataset that only some workers have', () => {
    const local = (changes: object) => ({ dataset: { kind: 'worker_local', ...changes } as DatasetRef });
    assert.deepEqual(requirements({ labels: { site: 'a' } }, local({ name: 'gasoline' })).labels, {
      site: 'a',
      'dataset.gasoline': 'true',
    });
    assert.deepEqual(requirements({}, local({ name: 'gasoline', path: '/d' })).labels, {
      'dataset.gasoline': 'true',
    });
    assert.equal(requirements({}, local({ path: '/d' })).labels, undefined);
    assert.equal(
      requirements({}, { dataset: { kind: 'shared_path', path: '/d', name: 'gasoline' } }).labels,
      undefined,
    );
  });

  it('includes a worker that runs code of the submitter, or has a catalog, where the task needs that', () => {
    const tasks = decompose(
      spec({
        pipelines: [path('p'), { kind: 'python_entrypoint', entrypoint: 'lab' }],
        datasets: [shared('d'), { kind: 'catalog', catalog_id: 'corn' }],
        requirements: { capabilities: { fast: true } },
      }),
    );
    assert.deepEqual(
      tasks.map((task) => task.requirements.capabilities),
      [
        { fast: true },
        { fast: true, catalog: true },
        { fast: true, python_entrypoint: true },
        { fast: true, python_entrypoint: true, catalog: true },
      ],
    );
    assert.equal(requirements(undefined).capabilities, undefined);
  });

  it('differs only for the datasets that need something else, and leaves the specification unchanged', () => {
    const asked = { labels: { site: 'a' } };
    const tasks = decompose(
      spec({
        pipeline: path('p'),
        datasets: [{ kind: 'worker_local', name: 'x' }, shared('y')],
        requirements: asked,
      }),
    );
    assert.deepEqual(
      tasks.map((task) => task.requirements.labels),
      [{ site: 'a', 'dataset.x': 'true' }, { site: 'a' }],
    );
    assert.deepEqual(asked, { labels: { site: 'a' } });
  });
});

describe('the settings of a job', () => {
  it('have defaults', () => {
    assert.deepEqual(settingsOf(spec({})), {
      priority: 0,
      max_attempts: 2,
      backoff_seconds: 0,
      rank_metrics: [{ metric: 'best_rmse', mode: 'min' }],
      selects: null,
      timeout_seconds: null,
      outputs: { export_best_model: true, keep_task_workspace: false },
    });
    const { outputs, max_attempts } = settingsOf(spec({ outputs: {}, retry: {} }));
    assert.deepEqual(
      { outputs, max_attempts },
      { outputs: { export_best_model: true, keep_task_workspace: false }, max_attempts: 2 },
    );
  });

  it('are what the job says', () => {
    const said = {
      priority: -1,
      timeout_seconds: 1.5,
      outputs: { export_best_model: false, keep_task_workspace: true },
    } as const;
    const retry = { max_attempts: 5, backoff_seconds: 30 };
    const ranked = settingsOf(spec({ ...said, retry, rank_metric: 'best_r2', rank_mode: 'min' }));
    assert.deepEqual(ranked, {
      ...said,
      ...retry,
      rank_metrics: [{ metric: 'best_r2', mode: 'min' }],
      selects: null,
    });
  });

  it('of a job that selects rank by what it selects by, which is cross-validation unless it says otherwise', () => {
    const { rank_metrics, selects } = settingsOf(spec({ select: {} }));
    assert.deepEqual(rank_metrics, [
      { metric: 'cv_rmse', mode: 'min' },
      { metric: 'cv_balanced_accuracy', mode: 'max' },
      { metric: 'cv_accuracy', mode: 'max' },
    ]);
    assert.deepEqual(selects, { refit: true, expands: false });
    const said = settingsOf(
      spec({ select: { by: 'mine', mode: 'max', refit: false }, decompose: 'variants' }),
    );
    assert.deepEqual(said.rank_metrics, [{ metric: 'mine', mode: 'max' }]);
    assert.deepEqual(said.selects, { refit: false, expands: true });
  });

  it('rank errors smallest first, and agreement largest first, unless the job says otherwise', () => {
    const mode = (rank_metric: string) => settingsOf(spec({ rank_metric })).rank_metrics[0]?.mode;
    const errors = ['best_rmse', 'best_mae', 'mse', 'bias', 'error', 'r2_error', 'cv_rmse', 'best_score'];
    for (const metric of [...errors, 'hamming_loss', 'time', 'neighbours', 'test', 'par2']) {
      assert.equal(mode(metric), 'min', metric);
    }
    const agreements = 'r2 R2 accuracy balanced_accuracy roc_auc f1 f1_macro precision'.split(' ');
    const others = ['recall', 'rpd', 'RPIQ', 'q2', 'ccc', 'kappa', 'explained_variance', 'pearson_r'];
    for (const metric of [...agreements, ...others]) {
      for (const around of [
        metric,
        `best_${metric}`,
        `cv_${metric}`,
        `${metric}_cv`,
        `final-test-${metric}`,
      ]) {
        assert.equal(mode(around), 'max', around);
      }
    }
    assert.equal(mode('neg_root_mean_squared_error'), 'max');
  });

  it('rank by one metric, or by one of a list, each name once and each in its own direction', () => {
    const ranked = (differs: Partial<JobSpec>) => settingsOf(spec(differs)).rank_metrics;
    const [r2, rmse] = [
      { metric: 'cv_r2', mode: 'max' },
      { metric: 'cv_rmse', mode: 'min' },
    ];
    assert.deepEqual(ranked({ rank_metric: ['cv_r2', 'cv_rmse', 'cv_r2'] }), [r2, rmse]);
    assert.deepEqual(ranked({ rank_metric: ['cv_r2', 'cv_rmse'], rank_mode: 'min' }), [
      { ...r2, mode: 'min' },
      rmse,
    ]);
    const names = (differs: Partial<JobSpec>) => ranked(differs).map(({ metric }) => metric);
    assert.deepEqual(names({ type: 'mljs.run' }), ['best_rmse']);
    assert.deepEqual(names({ type: 'nirs4all.run' }), ['best_rmse', 'cv_rmse']);
    assert.deepEqual(names({ type: 'nirs4all.run', rank_metric: 'best_r2' }), ['best_r2']);
  });
});
