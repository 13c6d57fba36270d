import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readNote } from '../../actors/worker/child/leftovers.ts';
import { processTable } from '../../actors/worker/child/proc.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { isAlive, logOf, pidIn, startTestWorker, submit, taskIn } from './support.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/worker.ts', import.meta.url));

interface Crashing {
  state: string;
  program: ChildProcess;
  job: string;
  /** What the task runs: its child, and one that left the child's group. */
  child: number;
  daemon: number;
  /** Lets the task succeed, in whichever attempt. */
  finish(): Promise<void>;
  kill(): Promise<void>;
}

/** A worker program in a process of its own, with a task under way. */
async function working(t: TestContext, server: TestServer, max_attempts = 3): Promise<Crashing> {
  const state = await temporaryFolder(t);
  const args = ['--import', 'tsx', PROGRAM, server.url, state];
  const program = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  atEnd(t, () => program.kill('SIGKILL'));
  const mark = await temporaryFolder(t);
  const go = join(mark, 'go');
  const script = `(setsid sleep 1000 >/dev/null 2>&1 & tell daemon); while [ ! -e ${go} ]; do sleep 0.02; done`;
  const job = await submit(server, { do: 'shell', mark, script }, { retry: { max_attempts } });
  const daemon = await pidIn(join(mark, 'daemon'));
  // Its program notes it a moment after it has come to life.
  await until('a note of the child', async () => (await marked(state))[0] !== undefined);
  const [child] = await marked(state);
  return {
    state,
    program,
    job,
    daemon,
    child: child as number,
    finish: () => writeFile(go, ''),
    async kill() {
      program.kill('SIGKILL');
      await once(program, 'exit');
    },
  };
}

/** The leaders that the notes in a state directory name. */
async function marked(state: string): Promise<number[]> {
  const files = await readdir(join(state, 'tasks'), { recursive: true });
  const notes = files.filter((file) => file.endsWith('attempt.json'));
  const read = notes.map((file) => readNote(state, join(state, 'tasks', file)));
  return (await Promise.all(read)).map(({ pid }) => pid as number);
}

/** The guard that a worker program has started. */
function guardOf(program: ChildProcess): number {
  const commandOf = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    } catch {
      return '';
    }
  };
  const guard = processTable().find(
    ({ pid, parent }) => parent === program.pid && commandOf(pid).includes('reaper.sh'),
  );
  return guard?.pid ?? assert.fail('no guard');
}

const quickly = { leaseTtl: 1, heartbeatInterval: 0.2 };

describe('a worker program that is killed', () => {
  it('takes the processes of its tasks with it, wherever they went', async (t) => {
    const server = await startTestServer(t, quickly);
    const { child, daemon, kill } = await working(t, server);
    assert.deepEqual([isAlive(child), isAlive(daemon)], [true, true]);
    await kill();
    await until('the child to be gone', () => !isAlive(child));
    await until('what left its group to be gone', () => !isAlive(daemon));
  });

  it('is followed by one that ends the processes left over, clears the directory and goes on as the same worker', async (t) => {
    const server = await startTestServer(t, quickly);
    const { state, program, child, daemon, job, kill, finish } = await working(t, server);
    const { worker_id } = JSON.parse(await readFile(join(state, 'worker.json'), 'utf8'));
    process.kill(guardOf(program), 'SIGKILL');
    await kill();
    assert.ok(isAlive(daemon), 'nobody is left to end what left its group');

    const next = await startTestWorker(t, server, { state });
    assert.equal(next.workerId, worker_id);
    assert.deepEqual([isAlive(child), isAlive(daemon)], [false, false]);
    await finish();
    const task = await taskIn(server, job);
    assert.equal(task.status, 'succeeded');
    assert.ok(task.attempt > 1);
    await until('an empty directory', async () => (await readdir(join(state, 'tasks'))).length === 0);
  });
});

describe('a worker program that follows one that was killed', () => {
  const slowly = { leaseTtl: 600, heartbeatInterval: 0.2 };

  it('reports the tasks that were cut short, with their logs so far, so that they are queued again at once', async (t) => {
    const server = await startTestServer(t, slowly);
    const { state, job, kill, finish } = await working(t, server);
    await kill();
    await finish();
    await startTestWorker(t, server, { state });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 2]);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    const failed = events.filter(({ type }) => type === 'task_failed');
    assert.equal(failed.length, 1);
    assert.match(failed[0]?.message ?? '', /was killed, or its machine went down/);
    assert.deepEqual(
      [failed[0]?.data.requeued, events.some(({ type }) => type === 'task_lost')],
      [true, false],
    );
    await until('an empty directory', async () => (await readdir(join(state, 'tasks'))).length === 0);
    assert.deepEqual(await readdir(join(state, 'outbox')), []);
  });

  it('keeps the log of an attempt that was the last one', async (t) => {
    const server = await startTestServer(t, slowly);
    const { state, job, kill } = await working(t, server, 1);
    await kill();
    await startTestWorker(t, server, { state });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt], ['failed', 1]);
    assert.match(task.error ?? '', /was killed, or its machine went down/);
    assert.match(await logOf(server, job), /\[jq-worker\] the worker program that ran this was killed/);
  });

  it('leaves alone a task that has gone to another worker meanwhile', async (t) => {
    const server = await startTestServer(t, quickly);
    const { state, job, kill, finish } = await working(t, server);
    await kill();
    const other = await startTestWorker(t, server);
    await until('the next attempt', async () => (await taskIn(server, job, 'running')).attempt === 2);
    await startTestWorker(t, server, { state });
    await until('an empty directory', async () => (await readdir(join(state, 'tasks'))).length === 0);
    await finish();
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt, task.worker_id], ['succeeded', 2, other.workerId]);
  });
});

describe('two workers on one machine', () => {
  it('never touch the tasks or files of the other, not even when one is killed and replaced', async (t) => {
    const server = await startTestServer(t, { ...quickly, leaseTtl: 60 });
    const one = await working(t, server);
    const other = await working(t, server);
    const filesOf = async () => (await readdir(join(other.state, 'tasks'), { recursive: true })).sort();
    const before = await filesOf();
    process.kill(guardOf(one.program), 'SIGKILL');
    await one.kill();
    const next = await startTestWorker(t, server, { state: one.state });
    assert.deepEqual([isAlive(one.child), isAlive(one.daemon)], [false, false]);
    assert.deepEqual([isAlive(other.child), isAlive(other.daemon)], [true, true]);
    assert.deepEqual(await filesOf(), before);
    await next.stop();
    await other.finish();
    const task = await taskIn(server, other.job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 1]);
  });
});
