import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { parsePipeline, readPipeline } from '../../actors/worker/runners/mljs/pipeline.ts';
import { runHere } from './mljs-support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Reference {
  kind: string;
  path?: string;
  inline?: unknown;
}

const jobOf = (name: string) => parse(readFileSync(join(ROOT, 'examples', name), 'utf8'));

const pipelineOf = ({ kind, path, inline }: Reference) => {
  assert.ok(kind === 'path' || kind === 'inline_json', kind);
  return kind === 'path' ? readPipeline(join(ROOT, path as string)) : parsePipeline(inline, 'inline');
};

describe('the example jobs', () => {
  const matrix = jobOf('gasoline-matrix.yaml');
  const single = jobOf('gasoline-single.yaml');

  it('have the type of this runner and are ranked by the error it minimises', () => {
    for (const job of [matrix, single]) {
      assert.equal(job.type, 'mljs.run');
      assert.deepEqual([job.rank_metric, job.rank_mode], ['best_rmse', 'min']);
    }
  });

  it('have pipelines that the runner accepts, by path and inline, no two the same', () => {
    const pipelines = matrix.pipelines.map(pipelineOf);
    assert.equal(pipelines.length, 7);
    const contents = pipelines.map(({ preprocess }: { preprocess: unknown }) => JSON.stringify(preprocess));
    assert.equal(new Set(contents).size, 7);
    const kinds = matrix.pipelines.map(({ kind }: Reference) => kind);
    assert.deepEqual([...new Set(kinds)].sort(), ['inline_json', 'path']);
    assert.equal(pipelineOf(single.pipeline).split?.kind, 'k_fold');
  });

  it('have datasets that the runner can read', () => {
    for (const { kind, path } of [...matrix.datasets, single.dataset]) {
      assert.equal(kind, 'shared_path');
      const { train, columns } = readDataset(join(ROOT, path));
      assert.deepEqual([train.x.length, train.y.length, columns?.length], [60, 60, 401]);
    }
  });

  it('run: the single example predicts far better than the mean', () => {
    const { metrics, extra } = runHere({
      pipeline: single.pipeline.inline,
      dataset: join(ROOT, single.dataset.path),
      params: single.params,
    });
    assert.ok(metrics.best_rmse < 0.2 * (extra.baseline_rmse as number), String(metrics.best_rmse));
  });
});
