import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitingLines } from '../../bin/terminal/waiting.ts';
import type { Waiting } from '../../machines/schema/views.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { begin, run } from './cli-support.ts';
import { aJob, fakeServer } from './fake-server.ts';
import { jobOf, playWorker } from './played-worker.ts';
import { scene } from './scene.ts';

const queued = (...waiting_for: Waiting[]) => ({ status: 'queued' as const, waiting_for });
const lacks = (requirement: string, workers_missing: number): Waiting => ({ requirement, workers_missing });
/** What is said of one task on a cluster of three workers. */
const said = (...waiting: Waiting[]) =>
  waitingLines([queued(...waiting)], 3).map((line) => line.replace('1 queued task waits: ', ''))[0];

describe('why a task waits, in words', () => {
  it('names what no worker has, and how to start one that has it', () => {
    for (const [requirement, words] of [
      ['labels.dataset.corn=true', 'no worker has the dataset corn (start one with --dataset corn=PATH)'],
      ['labels.site=lab-b', 'no worker has the label site=lab-b'],
      [
        'capabilities.python_entrypoint',
        'no worker runs python_entrypoint pipelines (start one with --allow-python)',
      ],
      ['capabilities.catalog', 'no worker has a catalog of datasets (start one with --catalog FILE|URL)'],
      ['packages.numpy>=2', 'no worker has numpy>=2'],
      ['packages.nirs4all', 'no worker has nirs4all (start one with --python INTERPRETER)'],
      ['min_memory_gb=64', 'no worker has 64 GiB of memory'],
      ['min_gpu_count=2', 'no worker has 2 GPUs'],
    ] as const) {
      assert.equal(said(lacks(requirement, 3)), words);
    }
  });

  it('does not name what only some workers lack, where all of them lack something else', () => {
    assert.equal(said(lacks('labels.a=1', 2), lacks('packages.numpy', 3)), 'no worker has numpy');
  });

  it('says that no worker has everything, where each has a part', () => {
    assert.equal(
      said(lacks('labels.a=1', 2), lacks('packages.numpy', 1)),
      'no worker has all that is asked for (2 of 3 workers without the label a=1; 1 of 3 workers without numpy)',
    );
  });

  it('says that the workers that fit are busy', () => {
    assert.equal(said(lacks('slots', 3)), 'every worker that fits is busy');
    assert.equal(
      said(lacks('capabilities.python_entrypoint', 2), lacks('slots', 1)),
      'every worker that fits is busy (2 of 3 workers without --allow-python)',
    );
  });

  it('says what a worker reported of itself, or of the task', () => {
    for (const [waiting, words] of [
      [[lacks('worker_fault', 3)], 'every worker reported a fault of its own for it'],
      [[lacks('ends_too_early', 3)], 'every worker ends before it would be done (start one with more time)'],
      [[lacks('suspended', 3)], 'every worker is suspended (jqctl workers says why)'],
      [[lacks('path=/data/x', 3)], 'no worker has the path /data/x'],
      [
        [lacks('backoff', 2), lacks('min_gpu_count=1', 1)],
        'it failed, and is tried again later (retry.backoff_seconds)',
      ],
      [
        [lacks('worker_fault', 1), lacks('suspended', 1), lacks('path=/x', 1)],
        'no worker can take it now (1 of 3 workers avoided after a fault of its own; 1 of 3 workers suspended; 1 of 3 workers without the path /x)',
      ],
      [
        [lacks('worker_fault', 1), lacks('slots', 2)],
        'every worker that fits is busy (1 of 3 workers avoided after a fault of its own)',
      ],
    ] as const) {
      assert.equal(said(...waiting), words);
    }
  });

  it('is said once for all tasks with the same reason, and not for tasks that are about to run', () => {
    const corn = queued(lacks('labels.dataset.corn=true', 3));
    const tasks = [corn, corn, queued(), { status: 'running' as const, waiting_for: [] }];
    assert.deepEqual(waitingLines(tasks, 3), [
      '2 queued tasks wait: no worker has the dataset corn (start one with --dataset corn=PATH)',
    ]);
    assert.deepEqual(waitingLines(tasks, 0), [
      '3 queued tasks wait: no worker is alive; start one with: jq-worker',
    ]);
  });
});

describe('a client that waits for a job', () => {
  it('is told once why nothing of it runs', async (t) => {
    const { server, play } = await scene(t);
    await play(4, { labels: { site: 'lab-a' } });
    const text = jobOf('a.yaml').replace('{', '{"requirements":{"labels":{"site":"lab-b"}},');
    const { said, outcome } = begin(['submit', '-', '--wait', '--server', server.url], { stdin: text });
    await until('the reason', () =>
      said.stderr.includes('1 queued task waits: no worker has the label site=lab-b'),
    );
    const worker = await play(4, { labels: { site: 'lab-b' } });
    await worker.complete(await worker.take());
    const { code, stderr } = await outcome;
    assert.equal(code, 0);
    assert.equal(stderr.split('no worker has').length, 2, stderr);
  });
});

describe('a task that ran another pipeline than its job pinned', () => {
  it('is reported where the job is shown', async (t) => {
    const { server, ctl, play } = await scene(t);
    const expected = `sha256:${'0'.repeat(64)}`;
    const inline = { kind: 'inline_json', inline: [] };
    const spec = {
      type: 'mljs.run',
      pipelines: [
        { ...inline, name: 'a' },
        { ...inline, name: 'b', expected_fingerprint: expected },
      ],
      datasets: ['x', 'y'].map((path) => ({ kind: 'shared_path', path })),
    };
    const { id } = await server.client.call('submitJob', { text: JSON.stringify(spec) });
    const worker = await play();
    const complete = async (pipeline_fingerprint: string) => {
      const { task_id } = await worker.take();
      const query = { worker_id: worker.worker_id };
      const body = { status: 'succeeded' as const, metrics: { best_rmse: 1 }, pipeline_fingerprint };
      await server.client.call('completeTask', { params: { id: task_id }, query, body });
    };
    for (const told of ['sha256:one', 'sha256:two', expected, 'sha256:other']) await complete(told);
    const { stdout } = await ctl('status', id);
    assert.deepEqual(stdout.match(/^warning: .*$/gm), [
      `warning: y · b ran a pipeline with fingerprint sha256:other, not the expected ${expected}`,
    ]);
    assert.equal((await ctl('wait', id)).stdout.match(/^warning: /gm)?.length, 1);
  });
});

describe('the warnings of runners', () => {
  it('are listed where the job is shown, equal ones once', async (t) => {
    const { server, ctl, play } = await scene(t);
    const { id } = await server.client.call('submitJob', { text: jobOf('a.yaml', 'b.yaml') });
    const worker = await play();
    for (const warnings of [
      ['two samples were left out', 'a column is constant'],
      ['two samples were left out'],
    ]) {
      const { task_id } = await worker.take();
      const query = { worker_id: worker.worker_id };
      const body = { status: 'succeeded' as const, metrics: { best_rmse: 1 }, extra: { warnings } };
      await server.client.call('completeTask', { params: { id: task_id }, query, body });
    }
    const { stdout } = await ctl('status', id);
    assert.deepEqual(stdout.match(/^warning: .*$/gm), [
      'warning: two samples were left out (2 tasks)',
      'warning: a column is constant (1 task)',
    ]);
  });
});

describe('the status of a job that goes on', () => {
  it('says how long it has taken, and how long it will still take', async (t) => {
    const sums = { num_tasks: 9, num_succeeded: 8, num_running: 1 };
    const server = await fakeServer({
      'GET /v1/jobs/job_1': () => {
        // When it answers, and not before the command has started.
        const now = Date.now() / 1000;
        const estimate = { ends_at: now + 600, earliest: now + 540, latest: now + 720, num_timed: 8 };
        return { body: aJob({ status: 'running', created_at: now - 100, estimate }, sums) };
      },
      'GET /v1/jobs/job_1/tasks': { body: [] },
    });
    t.after(() => server.stop());
    const { stdout } = await run(['status', 'job_1', '--server', server.url]);
    // To the second, and some of them may have passed since.
    const at = (minutes: number) => `(${minutes} min|${minutes - 1} min 5\\d s)`;
    const words = `about ${at(10)} left \\(${at(9)} to ${at(12)}\\)`;
    assert.match(stdout, new RegExp(`^elapsed +1 min 4\\d s, ${words}$`, 'm'));
  });

  it('does not end with the error of a task that failed', async (t) => {
    const server = await startTestServer(t);
    const ctl = (argv: string[], stdin = '') => run([...argv, '--server', server.url], { stdin });
    const id = (await ctl(['submit', '-'], jobOf('a.yaml', 'b.yaml'))).stdout.trim();
    const worker = await playWorker(server.client);
    await worker.fail(await worker.take(), 'no such dataset');
    const second = await worker.take();
    const running = (await ctl(['status', id])).stdout;
    assert.match(running, /^status +running$/m);
    assert.match(running, /1 task failed\n +no such dataset\n +a +task_/);
    await worker.fail(second, 'no such dataset');
    assert.match((await ctl(['status', id])).stdout, /^status +failed: .*no such dataset/m);
    const alone = (await ctl(['submit', '-'], jobOf('a.yaml'))).stdout.trim();
    await worker.fail(await worker.take(), 'no such dataset');
    const told = (await ctl(['status', alone])).stdout;
    assert.equal(told.split('no such dataset').length, 2, `of the only task it is told once: ${told}`);
  });
});

describe('the list of workers', () => {
  it('shows the libraries that each runs, with their versions, not all its packages', async (t) => {
    const { server, ctl, play } = await scene(t);
    const packages = { nirs4all: '1.4.10', numpy: '2.1.0', mean: 'unknown', mljs: '0.3' };
    const libraries = ['mljs', 'nirs4all', 'mean'];
    await play(4, { capabilities: { libraries }, version: { packages } });
    const { stdout } = await ctl('workers');
    assert.match(stdout, /^played +alive +0\/4 +mljs 0\.3, nirs4all 1\.4\.10, mean +- /m);
    const narrow = await run(['workers', '--server', server.url], { terminal: true, env: { NO_COLOR: '1' } });
    assert.match(narrow.stdout, /^ +nirs4all 1\.4\.10$/m, 'not cut, and below the other one');
    await play(2, { version: { packages } });
    const both = (await ctl('workers')).stdout;
    assert.match(both, /^played +alive +0\/2 +nirs4all 1\.4\.10, numpy 2\.1\.0, mean, mljs 0\.3 /m);
  });
});
