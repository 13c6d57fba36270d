import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TASK_PAGE } from '../../bin/jobs/follow/task-pages.ts';
import { until } from '../support/until.ts';
import { run } from './cli-support.ts';
import { type Answer, aJob, anEvent, aTask, fakeServer } from './fake-server.ts';
import { scene } from './scene.ts';

const MANY = 2 * TASK_PAGE + 5;
const tasks = Array.from({ length: MANY }, (_, i) =>
  aTask({
    id: `task_${i}`,
    status: i < 2 ? 'succeeded' : i < 4 ? 'failed' : 'queued',
    pipeline_label: `p${i}`,
    waiting_for: [{ requirement: 'labels.site=b', workers_missing: 1 }],
    ...(i < 2 ? { result: { extra: { warnings: [`odd ${i}`] } } as never } : {}),
  }),
);

/** A server whose job has very many tasks; which were asked for shows in `requests`. */
function serving() {
  const job = aJob(
    { status: 'running' },
    {
      num_tasks: MANY,
      num_queued: MANY - 4,
      num_succeeded: 2,
      num_failed: 2,
      errors: { task_2: 'it broke', task_3: 'it broke' },
    },
  );
  const list: Answer = ({ url = '' }) => {
    const { searchParams: query } = new URL(url, 'http://x');
    const after = tasks.findIndex(({ id }) => id === query.get('after_id'));
    const status = query.get('status');
    const found = tasks.slice(after + 1).filter((task) => status === null || task.status === status);
    return { body: found.slice(0, Number(query.get('limit') ?? MANY)) };
  };
  return fakeServer({
    'GET /v1/jobs/job_1': { body: job },
    'GET /v1/jobs/job_1/tasks': list,
    'GET /v1/jobs/job_1/request': { body: {} },
    'GET /v1/jobs/job_1/events': { body: [anEvent({ task_id: 'task_7', message: 'seven' })] },
    'GET /v1/stats': { body: { workers_alive: 1, tasks_by_status: {}, jobs_by_status: {} } },
  });
}

const limitsOf = (requests: string[]) =>
  requests.filter((line) => line.includes('/tasks')).map((line) => Number(/limit=(\d+)/.exec(line)?.[1]));

describe('a job of very many tasks', () => {
  it('is shown by the first of them, of those that failed and of those that wait', async (t) => {
    const server = await serving();
    t.after(() => server.stop());
    const { code, stdout } = await run(['status', 'job_1', '--server', server.url]);
    assert.equal(code, 0);
    assert.match(stdout, /2 tasks failed/);
    assert.match(stdout, /· p2/);
    assert.match(stdout, /at least 1000 queued tasks wait: no worker has the label site=b/);
    assert.match(stdout, /odd 0 \(1 task\)/);
    assert.match(stdout, /warnings of the first 1000 of 2005 tasks; --json lists all of them/);
    assert.deepEqual(new Set(limitsOf(server.requests)), new Set([TASK_PAGE]));
  });

  it('is printed with all of them by --json, a page at a time', async (t) => {
    const server = await serving();
    t.after(() => server.stop());
    const { code, stdout } = await run(['status', 'job_1', '--json', '--server', server.url]);
    assert.equal(code, 0);
    const document = JSON.parse(stdout) as { id: string; tasks: { id: string }[] };
    assert.equal(document.id, 'job_1');
    assert.deepEqual(
      document.tasks.map(({ id }) => id),
      tasks.map(({ id }) => id),
    );
    assert.deepEqual(limitsOf(server.requests), [TASK_PAGE, TASK_PAGE, TASK_PAGE]);
  });

  it('has a log whose lines show the ids of its tasks, whose names are not fetched', async (t) => {
    const server = await serving();
    t.after(() => server.stop());
    const { code, stdout } = await run(['logs', 'job_1', '--server', server.url]);
    assert.equal(code, 0);
    assert.match(stdout, /task_7 \| seven/);
    assert.deepEqual(limitsOf(server.requests), [TASK_PAGE + 1]);
  });

  it('says to a client that waits for it why nothing of it runs', async (t) => {
    const { server, begins, play } = await scene(t);
    const pipelines = Array.from({ length: 6000 }, (_, i) => ({ kind: 'path', path: `${i}.yaml` }));
    const text = JSON.stringify({
      type: 'demo.run',
      pipelines,
      dataset: { kind: 'shared_path', path: '/d' },
      requirements: { labels: { site: 'b' } },
    });
    const { id } = await server.client.call('submitJob', { text });
    await play(1, { version: { packages: { demo: '1' } } });
    const { said, outcome } = begins('wait', id);
    const reason = 'at least 1000 queued tasks wait: no worker has the label site=b';
    await until('the reason', () => said.stderr.includes(reason));
    await server.client.call('cancelJob', { params: { id } });
    await outcome;
  });
});
