import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { jobMachine } from '../../machines/job/job.ts';
import { EventReport, TaskReports, TaskResult } from '../../machines/schema/report.ts';
import { JOB_STATUSES, TASK_STATUSES, WORKER_STATUSES } from '../../machines/schema/statuses.ts';
import { RULES, validator } from '../../machines/schema/validate.ts';
import { HeartbeatRequest, WorkerRegistration } from '../../machines/schema/worker.ts';
import { taskMachine } from '../../machines/task/task.ts';
import { workerMachine } from '../../machines/worker/worker.ts';
import { base, checkJob, faults, jobFaults } from './job-check.ts';

const KINDS = 'path, artifact, inline_json, python_entrypoint';

/** What the check makes of a valid value, as plain JSON. */
function taken(check: ReturnType<typeof validator>, value: unknown): unknown {
  const checked = check(value);
  assert.ok(checked.ok, JSON.stringify(checked));
  return JSON.parse(JSON.stringify(checked.value));
}

describe('a valid document', () => {
  it('is accepted as it is, with unknown members', () => {
    const job = {
      ...base,
      priority: -3,
      timeout_seconds: 0.5,
      params: { '10': 1, a: { deep: [null] } },
      retires: 3,
      requirements: { labels: { site: 'a' }, gpus: ['x'] },
    };
    assert.deepEqual(taken(checkJob, job), job);
  });

  it('may name members as JavaScript names its own', () => {
    const text = `{"type":"mljs.run","pipeline":{"kind":"inline_json","inline":{"__proto__":1}},
      "dataset":{"kind":"catalog","catalog_id":"c"},"__proto__":{"type":5},"constructor":null,"params":{"__proto__":[]}}`;
    assert.deepEqual(taken(checkJob, JSON.parse(text)), JSON.parse(text));
  });
});

describe('null', () => {
  it('stays a value where the schema names it', () => {
    const schema = Type.Object({ keep: Type.Optional(Type.Union([Type.String(), Type.Null()])) });
    assert.deepEqual(taken(validator(schema), { keep: null }), { keep: null });
  });

  it('in an optional member means that it is absent', () => {
    const nulls = {
      name: null,
      params: null,
      pipelines: null,
      retry: { max_attempts: null },
      timeout_seconds: null,
    };
    assert.deepEqual(taken(checkJob, { ...base, ...nulls }), { ...base, retry: {} });
    const nested = { kind: 'artifact', artifact_id: 'art_1', name: null };
    assert.deepEqual(taken(checkJob, { ...base, dataset: nested }), {
      ...base,
      dataset: { kind: 'artifact', artifact_id: 'art_1' },
    });
    const several = { type: 'a.run', pipelines: [base.pipeline], datasets: [nested, base.dataset] };
    assert.deepEqual(taken(checkJob, several), {
      ...several,
      datasets: [{ kind: 'artifact', artifact_id: 'art_1' }, base.dataset],
    });
    assert.deepEqual(taken(validator(HeartbeatRequest), { active: null, wait_s: null }), {});
    const active = [{ task_id: 'task_1', attempt: 1, stopping: null }];
    assert.deepEqual(taken(validator(HeartbeatRequest), { active }), {
      active: [{ task_id: 'task_1', attempt: 1 }],
    });
  });

  it('is kept where it is a value: in unknown members, in free objects, where a schema says so', () => {
    const job = {
      ...base,
      unknown: null,
      params: { random_state: null },
      pipeline: { kind: 'inline_json', inline: null, note: null },
    };
    assert.deepEqual(taken(checkJob, job), job);
    const result = {
      status: 'succeeded',
      artifacts: { model: 'art_1', logs: null },
      metrics: { best_r2: null },
    };
    assert.deepEqual(taken(validator(TaskResult), result), result);
  });

  it('is a fault where a value is needed', () => {
    assert.deepEqual(jobFaults({ pipeline: { kind: 'path', path: null } }), [
      '/pipeline/path must be string',
    ]);
    assert.deepEqual(jobFaults({ pipelines: [null], pipeline: undefined }), ['/pipelines/0 must be object']);
    assert.deepEqual(jobFaults({ requirements: { labels: { site: null } } }), [
      '/requirements/labels/site must be string',
    ]);
  });
});

describe('an invalid document', () => {
  it('gets all of its faults at once, each with its place', () => {
    assert.deepEqual(
      jobFaults({
        type: 'Mljs.run',
        name: 5,
        priority: 1.5,
        outputs: { export_best_model: 'yes' },
        retry: { max_attempts: 11 },
        timeout_seconds: 0,
        rank_mode: 'up',
        requirements: { min_memory_gb: -1, packages: { 'a/b~c': 5, numpy: '2' } },
        datasets: [],
      }).sort(),
      [
        "/datasets give either 'dataset' or 'datasets', not both",
        '/datasets must not have fewer than 1 items',
        '/name must be string',
        '/outputs/export_best_model must be boolean',
        '/priority must be integer',
        '/rank_mode must be one of: min, max',
        '/requirements/min_memory_gb must be >= 0',
        '/requirements/packages/a~1b~0c must be string',
        "/requirements/packages/numpy '2' is not a version constraint (PEP 440, such as '>=1.2,<2')",
        '/retry/max_attempts must be <= 10',
        '/timeout_seconds must be > 0',
        '/type must be the name of a library with .run or .predict behind it, such as mljs.run',
      ],
    );
  });

  it('gets every member that it lacks, and more faults than a person counts', () => {
    assert.deepEqual(faults(checkJob, {}), [
      "/pipeline is required (or 'pipelines' for several)",
      "/dataset is required (or 'datasets' for several)",
    ]);
    const reports = Array.from({ length: 100 }, () => ({ type: 'complete' }));
    const told = faults(validator(TaskReports), { reports });
    assert.deepEqual(
      told,
      reports.flatMap((_, i) =>
        ['task_id', 'worker_id', 'result'].map((name) => `/reports/${i}/${name} is required`),
      ),
    );
  });

  it('gets what is wrong with a value of the kind that it has, where several kinds are allowed', () => {
    assert.deepEqual(jobFaults({ rank_metric: [] }), ['/rank_metric must not have fewer than 1 items']);
    assert.deepEqual(jobFaults({ rank_metric: ['a', 'b', 'c', 'd', 'e'] }), [
      '/rank_metric must not have more than 4 items',
    ]);
    assert.deepEqual(jobFaults({ rank_metric: '' }), ['/rank_metric must not have fewer than 1 characters']);
    assert.deepEqual(jobFaults({ rank_metric: ['a', 5] }), ['/rank_metric/1 must be string']);
    assert.deepEqual(jobFaults({ rank_metric: 5 }), ['/rank_metric must be one of these: string, array']);
    assert.deepEqual(jobFaults({ rank_metric: null }), []);
  });

  it('that is no object gets just that', () => {
    for (const value of [null, 5, 'x', true, []])
      assert.deepEqual(faults(checkJob, value), ['/ must be object']);
    assert.deepEqual(jobFaults({ params: [], requirements: 5, retry: 'x' }), [
      '/params must be object',
      '/requirements must be object',
      '/retry must be object',
    ]);
  });

  it('gets the words that are allowed in a place, once', () => {
    const checkEvent = validator(EventReport);
    for (const level of ['loud', 5]) {
      assert.deepEqual(faults(checkEvent, { level }), ['/level must be one of: debug, info, warning, error']);
    }
    for (const status of ['failed', 5]) {
      assert.deepEqual(faults(validator(TaskResult), { status }), ['/status must be "succeeded"']);
    }
  });

  it('gets what a member may be besides null', () => {
    const result = { status: 'succeeded', artifacts: { model: 5 } };
    assert.deepEqual(faults(validator(TaskResult), result), [
      '/artifacts/model must be one of these: string, null',
    ]);
  });

  it('beyond bounds gets the bounds', () => {
    const registration = { slots_total: 0, version: { packages: { numpy: 2 } }, name: 'x'.repeat(1001) };
    assert.deepEqual(faults(validator(WorkerRegistration), registration), [
      '/name must not have more than 1000 characters',
      '/slots_total must be >= 1',
      '/version/packages/numpy must be string',
    ]);
    assert.deepEqual(jobFaults({ priority: Number.POSITIVE_INFINITY }), ['/priority must be integer']);
    assert.deepEqual(jobFaults({ retry: { max_attempts: 0 } }), ['/retry/max_attempts must be >= 1']);
  });
});

describe('a reference with a kind', () => {
  it('is checked by the fields of its kind, and by no other', () => {
    assert.deepEqual(jobFaults({ pipeline: { kind: 'path', artifact_id: 5 } }), [
      '/pipeline/path is required',
    ]);
    assert.deepEqual(jobFaults({ pipeline: { kind: 'artifact', path: 5 } }), [
      '/pipeline/artifact_id is required',
    ]);
    assert.deepEqual(jobFaults({ pipeline: { kind: 'inline_json' } }), ['/pipeline/inline is required']);
    assert.deepEqual(jobFaults({ dataset: { kind: 'shared_path', path: 5 } }), [
      '/dataset/path must be string',
    ]);
    assert.deepEqual(jobFaults({ dataset: { kind: 'catalog', catalog_id: '' } }), [
      '/dataset/catalog_id must not have fewer than 1 characters',
    ]);
    assert.deepEqual(jobFaults({ pipeline: { kind: 'inline_json', inline: 1, expected_fingerprint: 5 } }), [
      '/pipeline/expected_fingerprint must be string',
    ]);
  });

  it('of a kind that does not exist gets the list of kinds', () => {
    for (const pipeline of [{ kind: 'yaml' }, { kind: null }, { kind: 5 }, { path: 'x' }, {}]) {
      assert.deepEqual(jobFaults({ pipeline }), [`/pipeline/kind must be one of: ${KINDS}`]);
    }
    assert.deepEqual(jobFaults({ pipeline: 'pls.yaml' }), ['/pipeline must be object']);
    assert.deepEqual(jobFaults({ pipeline: [] }), ['/pipeline must be object']);
  });

  it('in a list is named by its number', () => {
    const pipelines = [
      base.pipeline,
      { kind: 'path' },
      { kind: 'x' },
      7,
      { kind: 'python_entrypoint', entrypoint: '1a' },
    ];
    assert.deepEqual(jobFaults({ pipeline: null, pipelines }), [
      '/pipelines/1/path is required',
      `/pipelines/2/kind must be one of: ${KINDS}`,
      '/pipelines/3 must be object',
      '/pipelines/4/entrypoint must be a module, with a function of it behind a colon, such as pipelines:best',
    ]);
  });
});

describe('a place in a document', () => {
  it('is found again whatever its name holds', () => {
    const Ref = Type.Union(
      [
        Type.Object({ kind: Type.Literal('a'), n: Type.Number() }),
        Type.Object({ kind: Type.Literal('b'), t: Type.String() }),
      ],
      { discriminator: { propertyName: 'kind' } },
    );
    const named = validator(Type.Object({ 'x/y~z': Ref }));
    assert.deepEqual(faults(named, { 'x/y~z': { kind: 'b' } }), ['/x~1y~0z/t is required']);
    assert.deepEqual(faults(named, { 'x/y~z': { kind: 'c' } }), ['/x~1y~0z/kind must be one of: a, b']);
    const free = validator(Type.Record(Type.String(), Type.Array(Ref)));
    assert.deepEqual(faults(free, { 'x/y~z': [{ kind: 'a', n: 1 }, { kind: 'a' }] }), [
      '/x~1y~0z/1/n is required',
    ]);
  });
});

describe('a schema with rules', () => {
  const Range = Type.Object(
    { from: Type.Number(), to: Type.Optional(Type.Number()) },
    {
      [RULES]: ({ from, to }: Record<string, unknown>) =>
        (from as number) > (to as number) ? [{ path: '/to', message: 'must not be below from' }] : [],
    },
  );
  const check = validator(Range);

  it('finds faults between members, also beside others', () => {
    assert.deepEqual(faults(check, { from: 2, to: 1 }), ['/to must not be below from']);
    assert.deepEqual(faults(check, { from: '2', to: 1 }), [
      '/from must be number',
      '/to must not be below from',
    ]);
    assert.deepEqual(faults(check, []), ['/ must be object']);
    assert.deepEqual(taken(check, { from: 1, to: null }), { from: 1 });
  });

  it('is the same in documents that are generated from it', () => {
    assert.equal(
      JSON.stringify(Range),
      JSON.stringify(Type.Object({ from: Type.Number(), to: Type.Optional(Type.Number()) })),
    );
  });
});

describe('the statuses on the wire', () => {
  it('are the top-level states of the machines; a worker that was removed has no row to show', () => {
    assert.deepEqual(Object.keys(jobMachine.states).sort(), [...JOB_STATUSES].sort());
    assert.deepEqual(Object.keys(taskMachine.states).sort(), [...TASK_STATUSES].sort());
    assert.deepEqual(Object.keys(workerMachine.states).sort(), [...WORKER_STATUSES, 'removed'].sort());
  });
});
