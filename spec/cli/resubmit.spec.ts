import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { specsOf } from '../../bin/jobs/submit/resubmission.ts';
import { withoutKey } from '../../machines/submission/resubmitted.ts';
import { run } from './cli-support.ts';
import { scene } from './scene.ts';

const REQUEST = `{"type":"mljs.run","idempotency_key":"once","params":{"a":1.0,"n":12345678901234567890},
  "pipelines":[{"kind":"inline_json","inline":1e-3},{"kind":"path","path":"b"},{"kind":"path","path":"c"}],
  "datasets":[{"kind":"shared_path","path":"x"},{"kind":"shared_path","path":"y"}]}`;

/** Pipelines and datasets of the request that is left. */
const matrices = (meant: readonly number[]) =>
  specsOf(REQUEST, (place) => meant.includes(place)).map((text) => {
    const { pipelines, datasets } = JSON.parse(text);
    return [pipelines, datasets].map((list: { path?: string }[]) => list.map(({ path }) => path ?? 'inline'));
  });

describe('a specification that is submitted anew', () => {
  it('has its numbers as they were written, and no idempotency key', () => {
    const text = withoutKey(REQUEST);
    for (const number of ['1.0', '12345678901234567890', '1e-3']) assert.ok(text.includes(number), number);
    assert.equal(JSON.parse(text).idempotency_key, undefined);
    assert.ok(specsOf(REQUEST, () => true)[0]?.includes('"inline":1e-3'));
  });

  it('has the chosen tasks alone, in as few jobs as there can be', () => {
    assert.deepEqual(matrices([0, 1, 2, 3, 4, 5]), [
      [
        ['inline', 'b', 'c'],
        ['x', 'y'],
      ],
    ]);
    assert.deepEqual(matrices([3]), [[['b'], ['y']]]);
    assert.deepEqual(matrices([0, 4]), [[['inline', 'c'], ['x']]]);
    assert.deepEqual(matrices([0, 3, 4]), [
      [['inline', 'c'], ['x']],
      [['b'], ['y']],
    ]);
    assert.deepEqual(matrices([]), []);
  });

  it('may name one pipeline and one dataset', () => {
    const one =
      '{"type":"a.run","pipeline":{"kind":"path","path":"p"},"dataset":{"kind":"shared_path","path":"d"}}';
    const [text = ''] = specsOf(one, () => true);
    assert.deepEqual(JSON.parse(text), {
      type: 'a.run',
      pipelines: [{ kind: 'path', path: 'p' }],
      datasets: [{ kind: 'shared_path', path: 'd' }],
    });
  });
});

/** A server with a job of four tasks: one succeeded, one failed, two were cancelled. */
async function ended(t: TestContext, options: Parameters<typeof scene>[1] = {}) {
  const { server, env, ctl, play } = await scene(t, options);
  const worker = await play();
  const { id } = await server.client.call('submitJob', {
    text: JSON.stringify({
      type: 'mljs.run',
      name: 'old',
      idempotency_key: 'once',
      pipelines: ['a', 'b'].map((path) => ({ kind: 'path', path })),
      datasets: ['x', 'y'].map((path) => ({ kind: 'shared_path', path })),
    }),
  });
  await worker.complete(await worker.take());
  await worker.fail(await worker.take(), 'broken');
  const tasksOf = async (job: string) => {
    const tasks = await server.client.call('listJobTasks', { params: { id: job } });
    return tasks.map(({ pipeline_label, dataset_label }) => `${pipeline_label} ${dataset_label}`);
  };
  return { server, env, ctl, worker, id, tasksOf };
}

describe('jqctl resubmit', () => {
  it('makes a new job of the whole, and leaves the old one', async (t) => {
    const { ctl, id, tasksOf } = await ended(t);
    const { code, stdout } = await ctl('resubmit', id);
    assert.equal(code, 0);
    const fresh = stdout.trim();
    assert.match(fresh, /^job_\w+$/);
    assert.notEqual(fresh, id);
    assert.deepEqual(await tasksOf(fresh), ['a x', 'a y', 'b x', 'b y']);
  });

  it('is called as the old one is by now, with its tags and note of now', async (t) => {
    const { server, ctl, id } = await ended(t);
    await ctl('set', id, '--name', 'new', '--tag', 'corn', '--note', 'with the new lamp');
    const fresh = (await ctl('resubmit', id)).stdout.trim();
    await ctl('set', id, '--untag', 'corn', '--note', '', '--name', '');
    const bare = (await ctl('resubmit', id, '--only', 'failed')).stdout.trim();
    const said = async (job: string) => {
      const { name, tags, note = null } = await server.client.call('getJob', { params: { id: job } });
      return [name, tags, note];
    };
    assert.deepEqual(await said(fresh), ['new', ['corn'], 'with the new lamp']);
    assert.deepEqual(await said(bare), [null, [], null]);
  });

  it('links the new job and the old one, both ways', async (t) => {
    const { server, ctl, id } = await ended(t);
    const fresh = (await ctl('resubmit', id)).stdout.trim();
    const again = (await ctl('resubmit', fresh)).stdout.trim();
    const from = async (job: string) =>
      (await server.client.call('getJob', { params: { id: job } })).resubmitted_from;
    assert.deepEqual([await from(fresh), await from(again)], [id, fresh]);
    assert.match((await ctl('status', fresh)).stdout, new RegExp(`^again from +${id}$`, 'm'));
    assert.match((await ctl('status', fresh)).stdout, new RegExp(`^run again +${again}$`, 'm'));
    const listed = await server.client.call('listJobs', { query: { resubmitted_from: id } });
    assert.deepEqual(
      listed.map((job) => job.id),
      [fresh],
    );
    assert.doesNotMatch((await ctl('status', again)).stdout, /run again/);
  });

  describe('--edit', () => {
    /** The command with a script of sed as the editor. */
    const edited = (env: Record<string, string>, id: string, ...flags: string[]) =>
      run(['resubmit', id, '--edit', ...flags], { env });

    it('submits the specification as it was changed, numbers as written, and says how many tasks it makes', async (t) => {
      const { server, env, id, tasksOf } = await ended(t);
      const script = `sed -i -e 's/path: b/path: c/' -e 's/^name: old/name: fresh # now\\nparams: { alpha: 1.0 }/'`;
      const { code, stdout, stderr } = await edited({ ...env, EDITOR: script }, id);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^4 tasks, as before$/m);
      const fresh = stdout.trim();
      assert.deepEqual(await tasksOf(fresh), ['a x', 'a y', 'c x', 'c y']);
      const request = await server.client.callText('getJobRequest', { params: { id: fresh } });
      assert.match(request, /"alpha":1\.0/);
      assert.equal((await server.client.call('getJob', { params: { id: fresh } })).resubmitted_from, id);
    });

    it('submits nothing where something is wrong, and keeps what was written', async (t) => {
      const { server, env, id } = await ended(t);
      const before = (await server.client.call('listJobs', {})).length;
      const { code, stderr } = await edited(
        { ...env, VISUAL: `sed -i '1i # mine\ns/mljs.run/Mljs/'`, EDITOR: 'false' },
        id,
      );
      assert.equal(code, 2);
      assert.match(stderr, /line 2: \/type +must be the name of a library with \.run or \.predict behind it/);
      const kept = /what you wrote is kept: jqctl submit (\S+)/.exec(stderr)?.[1] ?? '';
      assert.match(await readFile(kept, 'utf8'), /^# mine\ntype: Mljs$/m);
      await rm(dirname(kept), { recursive: true });
      const failed = await edited({ ...env, EDITOR: 'false' }, id);
      assert.match(failed.stderr, /the editor 'false' ended with 1; nothing is submitted/);
      assert.equal((await server.client.call('listJobs', {})).length, before);
    });

    it('is not begun by who may not submit', async (t) => {
      const principals = ['vera:tok-v:viewer'];
      const { server, env, id } = await ended(t, { principals, token: 'tok-a' });
      const { code, stderr } = await edited({ ...env, JQ_TOKEN: 'tok-v', EDITOR: 'false' }, id);
      assert.equal(code, 3, stderr);
      assert.match(stderr, /'vera' lacks required right\(s\): submit/);
      assert.equal((await server.client.call('listJobs', {})).length, 1);
    });

    it('needs a terminal for the editor that everybody has', async (t) => {
      const { env, id } = await ended(t);
      const { code, stderr } = await edited({ ...env, EDITOR: '', VISUAL: '' }, id);
      assert.equal(code, 2);
      assert.match(stderr, /--edit needs a terminal\n.*EDITOR/);
    });

    it('submits nothing where nothing was changed, and takes no part of the tasks', async (t) => {
      const { server, env, id } = await ended(t);
      const before = (await server.client.call('listJobs', {})).length;
      const { code, stdout, stderr } = await edited({ ...env, EDITOR: 'true' }, id);
      assert.deepEqual([code, stdout], [0, '']);
      assert.match(stderr, /nothing was changed, so nothing is submitted/);
      assert.equal((await edited({ ...env, EDITOR: 'true' }, id, '--only', 'failed')).code, 2);
      assert.equal((await server.client.call('listJobs', {})).length, before);
    });
  });

  it('makes one of the tasks that failed, were cancelled, or did not succeed', async (t) => {
    const { server, ctl, id, tasksOf } = await ended(t);
    await server.client.call('cancelJob', { params: { id } });
    for (const [only, tasks] of [
      ['failed', [['a y']]],
      ['cancelled', [['b x', 'b y']]],
      ['unfinished', [['a y'], ['b x', 'b y']]],
    ] as const) {
      const { code, stdout, stderr } = await ctl('resubmit', 'old', '--only', only);
      // The new ones have the same name.
      assert.equal(code, only === 'failed' ? 0 : 2, stderr);
      const ids = (code === 0 ? stdout : (await ctl('resubmit', id, '--only', only)).stdout)
        .trim()
        .split('\n');
      assert.deepEqual(await Promise.all(ids.map(tasksOf)), tasks);
    }
  });

  it('refuses a job that may still finish, a choice of no tasks, and an unknown choice', async (t) => {
    const { ctl, id } = await ended(t);
    const running = await ctl('resubmit', id, '--only', 'unfinished');
    assert.deepEqual([running.code, /what is unfinished may still finish/.test(running.stderr)], [2, true]);
    const none = await ctl('resubmit', id, '--only', 'cancelled');
    assert.deepEqual([none.code, /no task of it is cancelled/.test(none.stderr)], [2, true]);
    const odd = await ctl('resubmit', id, '--only', 'broken');
    assert.deepEqual([odd.code, /none of failed, cancelled, unfinished/.test(odd.stderr)], [2, true]);
    assert.equal((await ctl('resubmit', id, '--timeout', '5')).code, 2);
  });

  it('waits for the new job, and ends as it does', async (t) => {
    const { ctl, id, worker } = await ended(t);
    const outcome = ctl('resubmit', id, '--only', 'failed', '--wait');
    for (let left = 3; left > 0; left--) await worker.complete(await worker.take());
    assert.equal((await outcome).code, 0);
  });
});

describe('jqctl retry', () => {
  it('accepts a job that succeeded with failed tasks, and some of these by a part of their ids', async (t) => {
    const { server, ctl, worker, id } = await ended(t);
    await worker.fail(await worker.take(), 'broken');
    await worker.complete(await worker.take());
    const statuses = async () =>
      (await server.client.call('listJobTasks', { params: { id } })).map(({ status }) => status);
    assert.deepEqual(await statuses(), ['succeeded', 'failed', 'failed', 'succeeded']);
    const one = await ctl('retry', id, '--task', 'y · a');
    assert.deepEqual([one.code, /is queued again, 1 task/.test(one.stdout)], [0, true]);
    assert.deepEqual(await statuses(), ['succeeded', 'queued', 'failed', 'succeeded']);
    await worker.fail(await worker.take(), 'broken');
    assert.match((await ctl('retry', id)).stdout, /is queued again, 2 tasks/);
    const wrong = await ctl('retry', id, '--task', 'nowhere');
    assert.deepEqual([wrong.code, /has no task 'nowhere'/.test(wrong.stderr)], [2, true]);
  });

  it('waits, and ends with the exit code that wait gives', async (t) => {
    const { ctl, worker, id } = await ended(t);
    for (let left = 2; left > 0; left--) await worker.complete(await worker.take());
    const over = await ctl('retry', id, '--wait', '--timeout', '0.1');
    assert.deepEqual([over.code, /not ended after 0\.1 s/.test(over.stderr)], [5, true]);
    await worker.fail(await worker.take(), 'broken');
    for (const [more, code] of [
      [[], 6],
      [['--allow-failed'], 0],
      [['--json'], 0],
    ] as const) {
      const outcome = ctl('retry', id, '--wait', ...more);
      const task = await worker.take();
      await (code === 0 && more[0] === '--json' ? worker.complete(task) : worker.fail(task, 'broken'));
      const ended = await outcome;
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, /is (queued|running) again, 1 task/);
      if (more[0] === '--json') assert.equal(JSON.parse(ended.stdout).id, id);
    }
  });
});

describe('the report of a job', () => {
  const inline = (components: number) => ({ kind: 'inline_json', inline: ['snv', { pls: { components } }] });

  it('distinguishes inline pipelines, names each metric, and says where cross-validation has another winner', async (t) => {
    const { server, ctl, play } = await scene(t);
    const worker = await play();
    const { id } = await server.client.call('submitJob', {
      text: JSON.stringify({
        type: 'mljs.run',
        rank_metric: ['best_q2', 'best_rmse'],
        pipelines: [inline(3), inline(5)],
        dataset: { kind: 'shared_path', path: 'corn' },
      }),
    });
    const first = await worker.take();
    await worker.complete(first, { best_rmse: 0.5, best_score: 0.5, cv_rmse: 0.25, components: 3 });
    await worker.complete(await worker.take(), {
      best_rmse: 12.25,
      best_score: 12.25,
      cv_rmse: 0.125,
      components: 5,
    });
    const { stdout } = await ctl('status', id);
    assert.match(stdout, /^best +best_rmse 0\.5000$/m);
    assert.match(stdout, /# +dataset +pipeline +best_rmse +cv_rmse +components +task\n/);
    assert.match(stdout, /1 +corn +snv » pls\(components=3\) +0\.5000 +0\.2500 +3 +task_\w+\n/);
    assert.match(stdout, /2 +corn +snv » pls\(components=5\) +12\.2500 +0\.1250 +5 +task_\w+\n/);
    assert.match(
      stdout,
      /the best by best_rmse is not the best by cv_rmse: there it is snv » pls\(components=5\) on corn \(task_\w+\) with 0\.1250, against 0\.2500/,
    );
    assert.ok(stdout.includes(first.task_id));
    assert.match((await ctl('jobs')).stdout, /best_rmse 0\.5000/);
  });

  it('keeps those that are tried again apart from those that failed', async (t) => {
    const { server, ctl, play } = await scene(t);
    const worker = await play();
    const { id } = await server.client.call('submitJob', {
      text: JSON.stringify({
        type: 'mljs.run',
        pipelines: ['a', 'b', 'c'].map((path) => ({ kind: 'path', path })),
        dataset: { kind: 'shared_path', path: 'corn' },
      }),
    });
    const [a, b, c] = [await worker.take(), await worker.take(), await worker.take()];
    await worker.fail(a, 'singular matrix');
    await worker.fail(b, 'singular matrix');
    await server.client.call('failTask', {
      params: { id: c.task_id },
      query: { worker_id: worker.worker_id },
      body: { error: 'out of memory' },
    });
    const { stdout } = await ctl('status', id);
    assert.match(stdout, /^2 tasks failed\n {2}2 × singular matrix\n {4}a {2}task_\w+\n {4}b {2}task_\w+$/m);
    assert.match(stdout, /^1 task tried again, after\n {2}out of memory\n {4}c {2}task_\w+$/m);
  });
});
