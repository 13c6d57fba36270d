import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { JobSpec } from '../../machines/schema/job.ts';
import { validator } from '../../machines/schema/validate.ts';
import { datasetsOf, pipelinesOf, unknownMembers } from '../../machines/submission/submission.ts';
import { describeWithLibrary } from './python.ts';
import { GASOLINE, GASOLINE_COMMA, REPOSITORY, runTask } from './support.ts';

const check = validator(JobSpec);
const rows = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

describeWithLibrary('the example of a pipeline that Python code builds', (runner) => {
  it('runs, from the bundle that its job names', async () => {
    const job = parse(readFileSync(join(REPOSITORY, 'examples/kinds/python-job.yaml'), 'utf8'));
    const local = (marked: string) => join(REPOSITORY, marked.replace('file:', ''));
    const { entrypoint, bundle_artifact_id } = job.pipeline;
    const pipeline = { mode: 'entrypoint', entrypoint, sys_path: [local(bundle_artifact_id)] };
    const dataset = local(job.dataset.artifact_id);
    const ended = await runTask(runner, { pipeline, dataset, params: job.params });
    assert.equal(ended.code, 0, ended.stderr);
    assert.ok(Number(ended.result().metrics.best_rmse) > 0, 'it has no error');
  });
});

describe('the example jobs for nirs4all', () => {
  for (const name of ['atomic.yaml', 'matrix.yaml', 'inline.yaml']) {
    it(`${name} is a job without unknown fields, and what it names is there`, () => {
      const checked = check(parse(readFileSync(join(REPOSITORY, 'examples/nirs4all', name), 'utf8')));
      assert.ok(checked.ok);
      const job = checked.value;
      assert.equal(job.type, 'nirs4all.run');
      assert.deepEqual(unknownMembers(job), []);
      for (const reference of [...pipelinesOf(job), ...datasetsOf(job)]) {
        if ('path' in reference) assert.ok(existsSync(join(REPOSITORY, reference.path as string)));
      }
    });
  }

  it('have the gasoline samples, every fourth of them for validation, number by number as they are', () => {
    for (const [envelope, file] of [
      ['X', 'train_x.csv'],
      ['Y', 'train_y.csv'],
    ]) {
      const samples = rows(join(GASOLINE_COMMA, file as string)).slice(1);
      const kept = (partition: string, wanted: (i: number) => boolean) => {
        const found = rows(join(GASOLINE, `${envelope}${partition}.csv`)).slice(1);
        assert.deepEqual(
          found.map((row) => row.replaceAll(';', ',')),
          samples.filter((_, i) => wanted(i)),
        );
      };
      kept('cal', (i) => i % 4 !== 3);
      kept('val', (i) => i % 4 === 3);
    }
  });
});
