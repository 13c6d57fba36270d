import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WakeWatch } from '../../actors/worker/link/wake-watch.ts';
import { Program } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { atEnd, exists, temporaryFolder } from './folder.ts';
import { pidIn, submit, taskIn, taskOf } from './support.ts';

/** A watch over clocks that the test moves; it has noticed nothing yet. */
function watched(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const now: [number, number] = [1000, 50_000];
  let woken = 0;
  const watch: WakeWatch = new WakeWatch(
    () => {
      woken++;
      watch.set(true);
    },
    () => [...now],
  );
  watch.start();
  t.after(() => watch.stop());
  const pass = (monotonic: number, wall: number) => {
    now[0] += monotonic;
    now[1] += wall;
  };
  return { watch, pass, tick: () => t.mock.timers.tick(1000), woken: () => woken };
}

const signal = new AbortController().signal;

describe('noticing that the program was paused', () => {
  const sleeps: [string, number, number][] = [
    ['of a program that was stopped', 60_000, 60_000],
    ['of a machine that slept, in which the monotonic clock stands', 3, 60_000],
  ];
  for (const [what, monotonic, wall] of sleeps) {
    it(`sees the gap ${what}`, async (t) => {
      const { tick, pass, woken } = watched(t);
      pass(1000, 1000);
      tick();
      assert.equal(woken(), 0);
      pass(monotonic, wall);
      tick();
      assert.equal(woken(), 1);
      pass(1000, 1000);
      tick();
      assert.equal(woken(), 1);
    });
  }

  it('does not take a clock that is set back, or a slow moment, for a sleep', (t) => {
    const { tick, pass, woken } = watched(t);
    pass(1000, -86_400_000);
    tick();
    pass(2_000, 2_000);
    tick();
    assert.equal(woken(), 0);
  });

  it('lets no report out before the server has been asked', async (t) => {
    const { watch, pass, woken } = watched(t);
    await watch.asked(signal);
    pass(60_000, 60_000);
    let reported = false;
    const report = watch.asked(signal).then(() => {
      reported = true;
    });
    assert.equal(woken(), 1, 'whoever reports first finds out, whatever the timer does');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(reported, false);
    watch.set(false);
    await report;
  });

  it('does not hold a report that is aborted', async (t) => {
    const { watch, pass } = watched(t);
    pass(60_000, 60_000);
    const giving = new AbortController();
    const report = watch.asked(giving.signal);
    giving.abort();
    await assert.rejects(report, { name: 'AbortError' });
  });
});

/** A worker program of its own, which can be stopped. */
async function startProgram(t: TestContext, url: string): Promise<{ worker: Program; folder: string }> {
  const folder = await temporaryFolder(t);
  const argv = ['--import', 'tsx', PROGRAM, url, join(folder, 'state')];
  const worker = new Program(process.execPath, argv);
  atEnd(t, () => worker.child.kill('SIGKILL'));
  return { worker, folder };
}

const PROGRAM = fileURLToPath(new URL('./fixtures/worker.ts', import.meta.url));

describe('a worker that is stopped for longer than its lease, and goes on', () => {
  it('ends the tasks that are no longer its own before it reports anything of them', async (t) => {
    const server = await startTestServer(t, { leaseTtl: 3, heartbeatInterval: 0.5, workerDeadAfter: 2 });
    const { worker, folder } = await startProgram(t, server.url);
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    const job = await submit(server, { do: 'wait', mark, until: go }, { retry: { max_attempts: 2 } });
    const child = await pidIn(mark);
    await taskIn(server, job, 'running');
    process.kill(worker.pid, 'SIGSTOP');
    // The child ends with success meanwhile, which the worker finds when it wakes up.
    await writeFile(go, '');
    const expired = await until('the lease to expire', async () => {
      const task = await taskOf(server, job);
      return task.status !== 'running' && task;
    });
    assert.deepEqual([expired.status, expired.worker_id === null], ['queued', true]);
    process.kill(worker.pid, 'SIGCONT');
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 2]);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    assert.deepEqual(
      events.filter(({ type }) => /^task_(completed|lost|failed)$/.test(type)).map(({ type }) => type),
      ['task_lost', 'task_completed'],
    );
    assert.ok(child > 0 && (await exists(mark)));
  });
});

describe('a worker that is stopped together with its task, for longer than the task may take', {
  concurrency: true,
}, () => {
  /** A task of so many seconds that was stopped with its worker for one more. */
  async function stopped(t: TestContext, seconds: number) {
    const server = await startTestServer(t);
    const { worker, folder } = await startProgram(t, server.url);
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    const once = { retry: { max_attempts: 1 }, timeout_seconds: seconds };
    const job = await submit(server, { do: 'wait', mark, until: go }, once);
    const child = await pidIn(mark);
    await taskIn(server, job, 'running');
    for (const pid of [child, worker.pid]) process.kill(pid, 'SIGSTOP');
    await delay((seconds + 1) * 1000);
    for (const pid of [worker.pid, child]) process.kill(pid, 'SIGCONT');
    return { server, job, go };
  }

  it('does not count that time', async (t) => {
    const { server, job, go } = await stopped(t, 8);
    // A moment in which it would be ended, should its time seem to be over.
    await delay(1500);
    await writeFile(go, '');
    const { status, error } = await taskIn(server, job);
    assert.deepEqual([status, error], ['succeeded', null]);
  });

  it('ends the task nevertheless once it has had its time', async (t) => {
    const { server, job } = await stopped(t, 4);
    const { status, error } = await taskIn(server, job);
    assert.equal(status, 'failed');
    assert.match(String(error), /4 s/);
  });
});
