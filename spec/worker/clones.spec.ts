import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { attemptPaths } from '../../actors/worker/attempt/paths.ts';
import { Outbox } from '../../actors/worker/delivery/outbox.ts';
import { Identity } from '../../actors/worker/link/identity.ts';
import { machineId } from '../../actors/worker/link/machine-id.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { exists, temporaryFolder } from './folder.ts';
import { isAlive, pidIn, startTestWorker, submit, taskIn } from './support.ts';

const on = (state: string, machine = 'this') => new Identity(state, async () => machine);

/** A state directory of worker_1. */
async function written(t: TestContext): Promise<{ folder: string; state: string }> {
  const folder = await temporaryFolder(t);
  const state = join(folder, 'state');
  await mkdir(state);
  await on(state).write('worker_1');
  return { folder, state };
}

const copy = (from: string, to: string) => execFileSync('cp', ['-a', from, to]);

describe('the state directory of a worker', () => {
  it('belongs to the same worker after a restart, a move, and under another name', async (t) => {
    const { folder, state } = await written(t);
    assert.equal(await on(state).copied(), null);
    assert.equal(await on(state).read(), 'worker_1');
    const moved = join(folder, 'moved');
    await rename(state, moved);
    assert.equal(await on(moved).copied(), null);
  });

  it('belongs to another worker as a copy on the same machine, whether or not the original is still there', async (t) => {
    const { folder, state } = await written(t);
    copy(state, join(folder, 'copy'));
    assert.match(`${await on(join(folder, 'copy')).copied()}`, /^it is a copy of .*\/state$/);
    copy(state, join(folder, 'restored'));
    execFileSync('rm', ['-r', state]);
    await rename(join(folder, 'restored'), state);
    assert.match(`${await on(state).copied()}`, /copy/);
  });

  it('belongs to another worker as a copy on another machine', async (t) => {
    const { state } = await written(t);
    assert.match(`${await on(state, 'other').copied()}`, /another machine/);
  });

  it('keeps the id that an older program wrote, which wrote nothing else', async (t) => {
    const state = await temporaryFolder(t);
    await writeFile(join(state, 'worker.json'), '{"worker_id":"worker_1"}');
    assert.equal(await on(state).copied(), null);
    assert.equal(await on(state).read(), 'worker_1');
    await on(state).write('worker_1');
    assert.equal(JSON.parse(await readFile(join(state, 'worker.json'), 'utf8')).machine, 'this');
  });

  it('forgets its id for good, even where that cannot be written', async (t) => {
    const { state } = await written(t);
    const identity = on(state);
    await identity.forget();
    assert.equal(await identity.read(), undefined);
    assert.equal(await on(state).read(), undefined);
    assert.equal(await on(state).copied(), null);
    const gone = on(join(state, 'gone'));
    await assert.rejects(gone.forget());
    assert.equal(await gone.read(), undefined);
  });

  it('identifies the machine by what does not change, and does not reveal it', async () => {
    const id = await machineId();
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.equal(await machineId(), id);
    const system = (await readFile('/etc/machine-id', 'utf8').catch(() => '')).trim();
    assert.notEqual(id, system);
  });
});

describe('two copies of one state directory', () => {
  it('are two workers: neither ends nor reports what the other runs', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryFolder(t);
    const original = await startTestWorker(t, server, { state: join(folder, 'one') });
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    const job = await submit(server, { do: 'wait', mark, until: go }, { retry: { max_attempts: 1 } });
    const child = await pidIn(mark);
    copy(join(folder, 'one'), join(folder, 'two'));
    const clone = await startTestWorker(t, server, { state: join(folder, 'two') });
    assert.notEqual(await clone.registered, original.workerId);
    assert.ok(isAlive(child), "the original's child runs on");
    assert.equal((await taskIn(server, job, 'running')).worker_id, original.workerId);
    await writeFile(go, '');
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt, task.worker_id], ['succeeded', 1, original.workerId]);
    const other = await taskIn(server, await submit(server, { do: 'echo' }));
    assert.equal(other.status, 'succeeded');
    assert.equal(new Set((await server.client.call('listWorkers')).map(({ id }) => id)).size, 2);
  });

  it('both deliver a result that was saved before they were copied; it is recorded once', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryFolder(t);
    const state = join(folder, 'one');
    const { worker_id } = await server.client.call('registerWorker', {
      body: { version: { packages: { demo: '1' } } },
    });
    const job = await submit(server, { do: 'echo' }, { retry: { max_attempts: 1 } });
    const { task } = await server.client.call('lease', { params: { id: worker_id }, body: {} });
    assert.ok(task);
    const ref = { task_id: task.task_id, attempt: task.attempt, worker_id };
    await server.client.call('startTask', { params: { id: ref.task_id }, query: { worker_id } });
    await mkdir(attemptPaths(state, ref).root, { recursive: true });
    await new Outbox(state).save({
      ref,
      outcome: { verb: 'complete', result: { status: 'succeeded', metrics: { best_rmse: 0.25 } } },
      files: [],
    });
    await new Identity(state).write(worker_id);
    copy(state, join(folder, 'two'));
    await startTestWorker(t, server, { state: join(folder, 'two') });
    assert.equal((await taskIn(server, job)).status, 'succeeded');
    await startTestWorker(t, server, { state });
    await until('both to be done', async () => {
      const left = await Promise.all(
        [new Outbox(state), new Outbox(join(folder, 'two'))].map((o) => o.find(ref)),
      );
      return left.every((entry) => entry === null);
    });
    assert.equal((await taskIn(server, job)).status, 'succeeded');
  });

  it('separate when the second registers, if nothing distinguishes them before: the first goes on as a new worker', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryFolder(t);
    const original = await startTestWorker(t, server, { state: join(folder, 'one') });
    const first = await original.registered;
    const mark = join(folder, 'mark');
    const job = await submit(server, { do: 'sleep', mark }, { retry: { max_attempts: 1 } });
    const child = await pidIn(mark);
    // As a disk that was cloned with all that names it: nothing is noted but the id.
    await mkdir(join(folder, 'two'));
    await writeFile(join(folder, 'two', 'worker.json'), JSON.stringify({ worker_id: first }));
    const clone = await startTestWorker(t, server, { state: join(folder, 'two'), slots: 1 });
    assert.equal(await clone.registered, first);
    await until('a new worker', () => original.workerId !== first);
    await until('what it ran to be ended', () => !isAlive(child));
    const task = await until('the task to be tried again', async () => {
      const found = await taskIn(server, job, 'queued', 'leased', 'running');
      return found.attempt === 2 && found;
    });
    assert.notEqual(task.status, 'failed', 'it costs no attempt');
    const kept = JSON.parse(await readFile(join(folder, 'one', 'worker.json'), 'utf8'));
    assert.equal(kept.worker_id, original.workerId);
    assert.ok(await exists(join(folder, 'two', 'worker.json')));
  });
});
