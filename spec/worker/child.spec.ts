import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { statOf } from '../../actors/worker/child/proc.ts';
import { type ChildEnd, runGroup } from '../../actors/worker/child/run-group.ts';
import { until } from '../support/until.ts';
import { exists, temporaryFolder } from './folder.ts';
import { isAlive } from './processes.ts';

interface Started {
  pid: number;
  end: Promise<ChildEnd>;
  stop: AbortController;
  output(): string;
}

/** Runs a piece of JavaScript as a child in a group of its own. */
function start(t: TestContext, script: string, graceMs = 60_000, drainMs = 60_000): Started {
  const stop = new AbortController();
  let text = '';
  let pid = 0;
  const read = (stream: Readable) => stream.on('data', (chunk) => (text += chunk));
  const end = runGroup({
    command: process.execPath,
    args: ['-e', script],
    cwd: '/',
    env: process.env,
    tag: randomUUID(),
    graceMs,
    drainMs,
    signal: stop.signal,
    onSpawn: (id) => {
      pid = id;
    },
    stdout: read,
    stderr: read,
  });
  end.catch(() => {});
  t.after(() => {
    stop.abort();
    if (isAlive(pid)) process.kill(-pid, 'SIGKILL');
  });
  return {
    get pid() {
      return pid;
    },
    end,
    stop,
    output: () => text,
  };
}

const LIVE = 'setInterval(() => {}, 1000);';
/** Starts a grandchild that goes on for ever and says its id. */
const FORK = `const c = require('child_process').spawn(process.execPath, ['-e', '${LIVE}'], {stdio: 'inherit'});
  c.unref(); console.log('grandchild', c.pid);`;

describe('a child process', () => {
  it('leads a process group of its own', async (t) => {
    const child = start(t, `${LIVE} console.log('up')`);
    await until('the child', () => child.output().includes('up'));
    assert.equal(statOf(child.pid)?.group, child.pid);
  });

  it('reports its exit code and all that it wrote', async (t) => {
    const child = start(t, "console.log('out'); console.error('err'); process.exitCode = 3");
    assert.equal((await child.end).code, 3);
    assert.deepEqual(child.output().trim().split('\n').sort(), ['err', 'out']);
  });

  it('reports the signal that ended it', async (t) => {
    const end = await start(t, "process.kill(process.pid, 'SIGSEGV')").end;
    assert.deepEqual([end.code, end.signal], [null, 'SIGSEGV']);
  });

  it('fails clearly when the program does not exist', async () => {
    const nothing = () => {};
    const end = runGroup({
      command: '/no/such/program',
      args: [],
      cwd: '/',
      env: {},
      tag: 'of-the-test',
      graceMs: 0,
      signal: new AbortController().signal,
      onSpawn: nothing,
      stdout: nothing,
      stderr: nothing,
    });
    await assert.rejects(end, /ENOENT/);
  });

  it('is killed when it cannot be watched', async () => {
    let child = 0;
    const end = runGroup({
      command: process.execPath,
      args: ['-e', LIVE],
      cwd: '/',
      env: process.env,
      tag: 'of-the-test',
      graceMs: 0,
      drainMs: 20,
      signal: new AbortController().signal,
      onSpawn: (pid) => {
        child = pid;
        throw new Error('disk full');
      },
      stdout: () => {},
      stderr: () => {},
    });
    await assert.rejects(end, /disk full/);
    await until('the child to be gone', () => child > 0 && !isAlive(child));
  });

  it('is not started when it was stopped before', async (t) => {
    const folder = await temporaryFolder(t);
    const end = runGroup({
      command: 'touch',
      args: [join(folder, 'mark')],
      cwd: '/',
      env: process.env,
      tag: 'of-the-test',
      graceMs: 0,
      signal: AbortSignal.abort(),
      onSpawn: () => {},
      stdout: () => {},
      stderr: () => {},
    });
    await assert.rejects(end, { name: 'AbortError' });
    assert.equal(await exists(join(folder, 'mark')), false);
  });

  it('may end by itself after SIGTERM', async (t) => {
    const child = start(t, `${LIVE} process.on('SIGTERM', () => process.exit(7)); console.log('up')`);
    await until('the child', () => child.output().includes('up'));
    child.stop.abort();
    assert.equal((await child.end).code, 7);
  });

  it('is killed after the grace period when it ignores SIGTERM', async (t) => {
    const child = start(t, `${LIVE} process.on('SIGTERM', () => console.log('no')); console.log('up')`, 50);
    await until('the child', () => child.output().includes('up'));
    child.stop.abort();
    let end: ChildEnd | undefined;
    void child.end.then((ended) => {
      end = ended;
    });
    assert.equal((await until('its end', () => end)).signal, 'SIGKILL');
    assert.match(child.output(), /no/, 'it had been asked first');
  });

  it('leaves no grandchild behind, and is not delayed by one that holds its pipes open', async (t) => {
    const child = start(t, FORK);
    assert.equal((await child.end).code, 0);
    const grandchild = Number(/grandchild (\d+)/.exec(child.output())?.[1]);
    assert.ok(grandchild > 0);
    await until('the grandchild to be gone', () => !isAlive(grandchild));
  });

  it('is stopped with all of its group', async (t) => {
    const child = start(t, `${FORK} ${LIVE}`, 50);
    await until('the grandchild', () => child.output().includes('grandchild'));
    const grandchild = Number(/grandchild (\d+)/.exec(child.output())?.[1]);
    child.stop.abort();
    await child.end;
    await until('the grandchild to be gone', () => !isAlive(grandchild));
  });
});
