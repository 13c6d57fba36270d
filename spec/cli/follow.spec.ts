import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../support/until.ts';
import { begin } from './cli-support.ts';
import { playWorker } from './played-worker.ts';
import { restarted, scene } from './scene.ts';

const log = (message: string) => ({ type: 'log', message });

describe('logs', () => {
  it('prints what the runs printed and what happened in between, named by task where there are several', async (t) => {
    const { ctl, submit, play } = await scene(t);
    const id = await submit('a.yaml', 'b.yaml');
    const worker = await play();
    const first = await worker.take();
    await worker.report(first, [log('fold 1\nfold 2'), { type: 'progress', progress: 0.5, message: 'half' }]);
    await worker.complete(first);
    const all = await ctl('logs', id);
    assert.equal(all.code, 0);
    assert.match(all.stdout, / a \| fold 1\n\S+ a \| fold 2\n\S+ a succeeded/, 'without how far it was');
    const told = await ctl('logs', id, '--progress');
    assert.match(told.stdout, / a \| fold 2\n\S+ a progress 50% {2}half\n\S+ a succeeded/);
    assert.match((await ctl('logs', id, '--json')).stdout, /"type":"progress"/);
    const last = JSON.parse((await ctl('logs', id, '--json')).stdout.trimEnd().split('\n').at(-1) ?? '');
    const rest = await ctl('logs', id, '--after-id', String(last.id - 1));
    assert.equal(rest.stdout.trimEnd().split('\n').length, 1, '--after-id leaves out the rest');
    const one = await ctl('logs', id, '--task', first.task_id);
    assert.match(one.stdout, /^\S+ \| fold 1$/m);
    assert.doesNotMatch(one.stdout, /submitted/);
  });

  it('--follow ends with the job, and prints what came after its end', async (t) => {
    const { ctl, begins, submit } = await scene(t);
    const id = await submit('a.yaml', 'b.yaml');
    const { said, outcome } = begins('logs', id, '--follow');
    await until('the history', () => said.stdout.includes('submitted'));
    assert.equal((await ctl('cancel', id)).code, 0);
    const { code, stdout } = await outcome;
    assert.equal(code, 0);
    assert.match(stdout, /^\S+ a cancelled$/m);
    assert.match(stdout, /^\S+ b cancelled$/m);
  });

  it('--follow of a job that has ended prints its history and ends', async (t) => {
    const { ctl, submit } = await scene(t);
    const id = await submit('a.yaml');
    await ctl('cancel', id);
    const plainly = await ctl('logs', id);
    const followed = await ctl('logs', id, '--follow');
    assert.deepEqual(followed, plainly);
    assert.equal((await ctl('logs', id, '-f', '--after-id', '999999')).stdout, '');
  });

  it('--follow goes on after a restart of the server, with no event missed or doubled', async (t) => {
    const { server, begins, submit } = await scene(t);
    const id = await submit('a.yaml');
    const { said, outcome } = begins('logs', id, '--follow', '--json');
    await until('the history', () => said.stdout.includes('job_submitted'));
    const second = await restarted(t, server, said);
    const worker = await playWorker(second.client);
    const task = await worker.take();
    await worker.report(task, [log('after the restart')]);
    await worker.complete(task);
    const { code, stdout } = await outcome;
    assert.equal(code, 0);
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id);
    const stored = await second.client.call('listJobEvents', { params: { id } });
    assert.deepEqual(
      ids,
      stored.map((event) => event.id),
    );
    assert.ok(stored.some((event) => event.message === 'after the restart'));
  });
});

describe('wait', () => {
  it('outlives a restart of the server', async (t) => {
    const { server, begins, submit, play } = await scene(t);
    const id = await submit('a.yaml');
    const { said, outcome } = begins('wait', id);
    const worker = await play();
    const task = await worker.take();
    await until('the move', () => /started/.test(said.stderr));
    const second = await restarted(t, server, said);
    await second.client.call('completeTask', {
      params: { id: task.task_id },
      query: { worker_id: worker.worker_id, attempt: task.attempt },
      body: { status: 'succeeded' },
    });
    assert.equal((await outcome).code, 0);
  });

  it('says so when there is no worker that could do the job', async (t) => {
    const { ctl, begins, submit } = await scene(t);
    const id = await submit('a.yaml');
    const { said, outcome } = begins('wait', id);
    await until('the hint', () => /no worker is alive yet; start one with: jq-worker/.test(said.stderr));
    await ctl('cancel', id);
    assert.equal((await outcome).code, 1);
  });

  it('shows a bar on a terminal that moves with the progress of the tasks, and removes it at the end', async (t) => {
    const { server, submit, play } = await scene(t);
    const id = await submit('a.yaml', 'b.yaml');
    const { said, outcome } = begin(['wait', id, '--server', server.url], { terminal: true });
    const worker = await play();
    const task = await worker.take();
    await worker.report(task, [{ type: 'progress', progress: 0.5 }]);
    await until('a quarter of the job', () => /25%.*0\/2 tasks, 1 running/.test(said.stderr));
    await worker.complete(task);
    await worker.fail(await worker.take(), 'broken');
    const { code, stderr } = await outcome;
    assert.equal(code, 6);
    assert.ok(stderr.lastIndexOf('\u001b[?25h') > stderr.lastIndexOf('\u001b[?25l'), 'the cursor is back');
    assert.match(stderr, /failed.*broken/);
  });

  it('says beside the bar how long the job will still take, as the server expects it', async (t) => {
    const { server, submit, play } = await scene(t);
    const id = await submit('a.yaml', 'b.yaml', 'c.yaml');
    const { said, outcome } = begin(['wait', id, '--server', server.url], { terminal: true, columns: 200 });
    const worker = await play();
    await worker.complete(await worker.take());
    const second = await worker.take();
    // Tasks of a moment are over before they are expected to be.
    await until('the expectation', () =>
      /1\/3 tasks, 1 running, takes longer than expected/.test(said.stderr),
    );
    await worker.complete(second);
    await worker.complete(await worker.take());
    assert.equal((await outcome).code, 0);
  });
});
