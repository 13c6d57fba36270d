import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { nearest } from '../../machines/protocol/nearest.ts';
import { JobSpec, MAX_TASKS } from '../../machines/schema/job.ts';
import { jobRules } from '../../machines/schema/job-rules.ts';
import {
  admitJob,
  datasetsOf,
  pipelinesOf,
  sizeOf,
  unknownMembers,
} from '../../machines/submission/submission.ts';
import { base } from './job-check.ts';

const { pipeline, dataset } = base;
const broken = (spec: object) => jobRules(spec as never).map(({ path, message }) => `${path} ${message}`);

describe('what a job runs', () => {
  it('is one pipeline or several, and one dataset or several', () => {
    assert.deepEqual(broken(base), []);
    assert.deepEqual(broken({ pipelines: [pipeline], datasets: [dataset] }), []);
    assert.deepEqual([pipelinesOf(base), datasetsOf(base)], [[pipeline], [dataset]]);
    const several: JobSpec = { type: 'a.run', pipelines: [pipeline, pipeline], datasets: [dataset] };
    assert.deepEqual([pipelinesOf(several).length, datasetsOf(several).length], [2, 1]);
  });

  it('is never both, and never neither', () => {
    assert.deepEqual(broken({ pipeline, pipelines: [pipeline], datasets: [dataset], dataset }), [
      "/pipelines give either 'pipeline' or 'pipelines', not both",
      "/datasets give either 'dataset' or 'datasets', not both",
    ]);
    assert.deepEqual(broken({}), [
      "/pipeline is required (or 'pipelines' for several)",
      "/dataset is required (or 'datasets' for several)",
    ]);
  });

  it('names a dataset on the workers by its path or by its name', () => {
    const local = { kind: 'worker_local' };
    const message = "a worker_local dataset needs 'path' or 'name'";
    assert.deepEqual(broken({ pipeline, dataset: local }), [`/dataset ${message}`]);
    const datasets = [dataset, local, { ...local, name: 'a' }, { ...local, path: '/a' }, local, null, 'x'];
    assert.deepEqual(broken({ pipeline, datasets }), [`/datasets/1 ${message}`, `/datasets/4 ${message}`]);
  });
});

describe('a version constraint', () => {
  const constraint = (text: unknown) => broken({ ...base, requirements: { packages: { numpy: text } } });

  it('follows PEP 440, or says only that the package must be present', () => {
    for (const text of [
      '',
      ' ',
      '>=1.2,<2',
      '==1.*',
      '~=1.4.2',
      '!=1.5',
      '=== local-build',
      '>= 1.0 , < 2',
      '==1.0+cu118',
    ]) {
      assert.deepEqual(constraint(text), [], text);
    }
    for (const text of ['1.2', '=1.2', '^1.2', '>=1.2 <2', 'latest', '*', '~=1', '>=1.0+x', '<1.*']) {
      assert.deepEqual(constraint(text), [
        `/requirements/packages/numpy '${text}' is not a version constraint (PEP 440, such as '>=1.2,<2')`,
      ]);
    }
  });

  it('is checked only where it is text, which the schema ensures', () => {
    assert.deepEqual(constraint(5), []);
    assert.deepEqual(broken({ ...base, requirements: [] }), []);
    assert.deepEqual(broken({ ...base, requirements: { packages: 'x' } }), []);
    assert.deepEqual(broken({ ...base, requirements: null }), []);
  });

  it('is named by a pointer to its place', () => {
    const [fault] = jobRules({ ...base, requirements: { packages: { 'a/b~c': 'x' } } });
    assert.equal(fault?.path, '/requirements/packages/a~1b~0c');
  });
});

describe('a server', () => {
  const refusal = (spec: JobSpec, allowPythonJobs = false): ClusterError | null => {
    try {
      admitJob(sizeOf(spec), { allowPythonJobs });
      return null;
    } catch (fault) {
      assert.ok(fault instanceof ClusterError, String(fault));
      return fault;
    }
  };
  const python = { kind: 'python_entrypoint', entrypoint: 'models:build' } as const;

  it('accepts Python entrypoints only when it is configured to', () => {
    for (const spec of [
      { ...base, pipeline: python },
      { type: 'a.run', pipelines: [pipeline, python], dataset },
    ]) {
      assert.equal(refusal(spec)?.code, 'python_jobs_disabled');
      assert.match(refusal(spec)?.message ?? '', /--allow-python-jobs/);
      assert.equal(refusal(spec, true), null);
    }
    assert.equal(refusal(base), null);
  });

  it(`takes jobs of up to ${MAX_TASKS} tasks`, () => {
    const pipelines = Array.from({ length: 1000 }, () => pipeline);
    const datasets = Array.from({ length: 100 }, () => dataset);
    assert.equal(refusal({ type: 'a.run', pipelines, datasets }), null);
    const fault = refusal({ type: 'a.run', pipelines: [...pipelines, pipeline], datasets });
    assert.equal(fault?.code, 'too_many_tasks');
    assert.equal(fault?.message, 'the job makes 100100 tasks; at most 100000 are allowed');
    assert.deepEqual(fault?.faults, [
      { path: '/pipelines', message: 'makes 100100 tasks, more than 100000' },
    ]);
    const wide = { type: 'a.run', pipeline, datasets: Array.from({ length: MAX_TASKS + 1 }, () => dataset) };
    assert.equal(refusal(wide)?.faults?.[0]?.path, '/datasets');
  });
});

describe('an unknown member', () => {
  const warned = (changes: object) => unknownMembers({ ...base, ...changes } as JobSpec);

  it('gives a warning, with the member that was probably meant', () => {
    assert.deepEqual(warned({ retires: 3 }), ["unknown field 'retires', did you mean 'retry'?"]);
    assert.deepEqual(warned({ Priority: 3 }), ["unknown field 'Priority', did you mean 'priority'?"]);
    assert.deepEqual(warned({ colour: 'red' }), ["unknown field 'colour'"]);
    assert.deepEqual(warned({ x: 1 }), ["unknown field 'x'"]);
  });

  it('is found wherever members have names', () => {
    assert.deepEqual(
      warned({
        requirements: { min_memory: 1, label: {}, labels: { anything: 'goes' } },
        outputs: { export_model: true },
        retry: { attempts: 1 },
        pipeline: { kind: 'inline_json', inline: { any: 'thing' }, fingerprint: 'x' },
        dataset: { kind: 'catalog', catalog_id: 'c', path: '/data' },
        params: { anything: 'goes' },
      }),
      [
        "unknown field 'requirements.min_memory', did you mean 'requirements.min_memory_gb'?",
        "unknown field 'requirements.label', did you mean 'requirements.labels'?",
        "unknown field 'outputs.export_model'",
        "unknown field 'retry.attempts', did you mean 'retry.max_attempts'?",
        "unknown field 'pipeline.fingerprint', did you mean 'pipeline.expected_fingerprint'?",
        "unknown field 'dataset.path'",
      ],
    );
  });

  it('is reported once, however many pipelines have it', () => {
    const typo = { ...pipeline, pth: 'x' };
    const spec = {
      pipeline: undefined,
      pipelines: [typo, typo, { kind: 'artifact', artifact_id: 'a', artefact_id: 'b' }],
    };
    assert.deepEqual(warned(spec), [
      "unknown field 'pipeline.pth', did you mean 'pipeline.path'?",
      "unknown field 'pipeline.artefact_id', did you mean 'pipeline.artifact_id'?",
    ]);
  });

  it('is ignored when other clients are known to send it, at the top level only', () => {
    const known = { parity: 1, scheduler: 'x', submission: {}, native_payload: {}, nativePayload: {} };
    assert.deepEqual(warned(known), []);
    assert.deepEqual(warned({ retry: { parity: 1 } }), ["unknown field 'retry.parity'"]);
  });

  it('is named with at most some of its length', () => {
    assert.deepEqual(warned({ ['k'.repeat(10_000)]: 1 }), [`unknown field '${'k'.repeat(100)}…'`]);
  });

  it('does not exist in a job that uses every member there is', () => {
    const all = Object.fromEntries(Object.keys(JobSpec.properties).map((key) => [key, null]));
    assert.deepEqual(unknownMembers(all as never), []);
  });
});

describe('the nearest word', () => {
  it('is within one change for every three letters', () => {
    assert.equal(nearest('nam', ['name', 'type']), 'name');
    assert.equal(nearest('typo', ['name', 'type']), 'type');
    assert.equal(nearest('abcdef', ['abcdxy']), 'abcdxy');
    assert.equal(nearest('abcdef', ['abcxyz']), undefined);
    assert.equal(nearest('anything', []), undefined);
  });

  it('may be a part of the name, if it is not too short', () => {
    assert.equal(nearest('gpu_count', ['labels', 'min_gpu_count']), 'min_gpu_count');
    assert.equal(nearest('min', ['min_memory_gb']), undefined);
  });

  it('is the nearest of several, in any case of letters', () => {
    assert.equal(nearest('DATASET', ['datasets', 'dataset']), 'dataset');
  });
});
