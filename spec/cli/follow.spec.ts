import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { begin, run } from './cli-support.ts';
import { jobOf, playWorker } from './played-worker.ts';

const submit = async (url: string, ...pipelines: string[]) =>
  (await run(['submit', '-', '--server', url], { stdin: jobOf(...pipelines) })).stdout.trim();

const log = (message: string) => ({ type: 'log', message });

describe('logs', () => {
  it('prints what the runs printed and what happened in between, named by task where there are several', async (t) => {
    const server = await startTestServer(t);
    const id = await submit(server.url, 'a.yaml', 'b.yaml');
    const worker = await playWorker(server.client);
    const first = await worker.take();
    await worker.report(first, [log('fold 1\nfold 2'), { type: 'progress', progress: 0.5, message: 'half' }]);
    await worker.complete(first);
    const all = await run(['logs', id, '--server', server.url]);
    assert.equal(all.code, 0);
    assert.match(all.stdout, / a \| fold 1\n\S+ a \| fold 2\n\S+ a progress 50% {2}half\n\S+ a succeeded/);
    const last = JSON.parse(
      (await run(['logs', id, '--json', '--server', server.url])).stdout.trimEnd().split('\n').at(-1) ?? '',
    );
    const rest = await run(['logs', id, '--after-id', String(last.id - 1), '--server', server.url]);
    assert.equal(rest.stdout.trimEnd().split('\n').length, 1, '--after-id leaves out the rest');
    const one = await run(['logs', id, '--task', first.task_id, '--server', server.url]);
    assert.match(one.stdout, /^\S+ \| fold 1$/m);
    assert.doesNotMatch(one.stdout, /submitted/);
  });

  it('--follow ends with the job, and prints what came after its end', async (t) => {
    const server = await startTestServer(t);
    const id = await submit(server.url, 'a.yaml', 'b.yaml');
    const { said, outcome } = begin(['logs', id, '--follow', '--server', server.url]);
    await until('the history', () => said.stdout.includes('submitted'));
    assert.equal((await run(['cancel', id, '--server', server.url])).code, 0);
    const { code, stdout } = await outcome;
    assert.equal(code, 0);
    assert.match(stdout, /^\S+ a cancelled$/m);
    assert.match(stdout, /^\S+ b cancelled$/m);
  });

  it('--follow of a job that has ended prints its history and ends', async (t) => {
    const server = await startTestServer(t);
    const id = await submit(server.url, 'a.yaml');
    await run(['cancel', id, '--server', server.url]);
    const plainly = await run(['logs', id, '--server', server.url]);
    const followed = await run(['logs', id, '--follow', '--server', server.url]);
    assert.deepEqual(followed, plainly);
    assert.equal((await run(['logs', id, '-f', '--after-id', '999999', '--server', server.url])).stdout, '');
  });

  it('--follow goes on after a restart of the server, with no event missed or doubled', async (t) => {
    const first = await startTestServer(t);
    const id = await submit(first.url, 'a.yaml');
    const { said, outcome } = begin(['logs', id, '--follow', '--json', '--server', first.url]);
    await until('the history', () => said.stdout.includes('job_submitted'));
    await first.stop();
    await until('the loss to be told', () => /trying again/.test(said.stderr));
    const second = await startTestServer(t, { state: first.stateDir, port: first.port });
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
    const first = await startTestServer(t);
    const id = await submit(first.url, 'a.yaml');
    const { said, outcome } = begin(['wait', id, '--server', first.url]);
    const worker = await playWorker(first.client);
    const task = await worker.take();
    await until('the move', () => /started/.test(said.stderr));
    await first.stop();
    await until('the loss to be told', () => /trying again/.test(said.stderr));
    const second = await startTestServer(t, { state: first.stateDir, port: first.port });
    await second.client.call('completeTask', {
      params: { id: task.task_id },
      query: { worker_id: worker.worker_id, attempt: task.attempt },
      body: { status: 'succeeded' },
    });
    assert.equal((await outcome).code, 0);
  });

  it('says so when there is no worker that could do the job', async (t) => {
    const server = await startTestServer(t);
    const id = await submit(server.url, 'a.yaml');
    const { said, outcome } = begin(['wait', id, '--server', server.url]);
    await until('the hint', () => /no worker is alive yet; start one with: jq-worker/.test(said.stderr));
    await run(['cancel', id, '--server', server.url]);
    assert.equal((await outcome).code, 1);
  });

  it('shows a bar on a terminal that moves with the progress of the tasks, and removes it at the end', async (t) => {
    const server = await startTestServer(t);
    const id = await submit(server.url, 'a.yaml', 'b.yaml');
    const { said, outcome } = begin(['wait', id, '--server', server.url], { terminal: true });
    const worker = await playWorker(server.client);
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
});

describe('status', () => {
  it('says why tasks wait', async (t) => {
    const server = await startTestServer(t);
    const ctl = (...argv: string[]) => run([...argv, '--server', server.url]);
    const id = await submit(server.url, 'a.yaml');
    assert.match((await ctl('status', id)).stdout, /1 queued task waits: no worker is alive; start one/);
    const stdin = jobOf('a.yaml', 'b.yaml').replace('{', '{"requirements":{"labels":{"site":"lab-b"}},');
    const far = (await run(['submit', '-', '--server', server.url], { stdin })).stdout.trim();
    await playWorker(server.client);
    assert.match(
      (await ctl('status', far)).stdout,
      /2 queued tasks wait: no worker has the label site=lab-b\n/,
    );
  });
});
