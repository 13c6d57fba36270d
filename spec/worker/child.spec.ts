import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { statOf } from '../../actors/worker/child/proc.ts';
import { type ChildEnd, type ChildOptions, runGroup } from '../../actors/worker/child/run-group.ts';
import { until } from '../support/until.ts';
import { exists, temporaryFolder } from './folder.ts';
import { isAlive } from './processes.ts';

interface Started {
  pid: number;
  end: Promise<ChildEnd>;
  stop: AbortController;
  output(): string;
}

/** Runs a piece of JavaScript as a child in a group of its own; give what differs. */
function start(t: TestContext, script: string, differs: Partial<ChildOptions> = {}): Started {
  const stop = new AbortController();
  let text = '';
  let pid = 0;
  const read = (stream: Readable) => stream.on('data', (chunk) => (text += chunk));
  const end = runGroup({
    ...{ command: process.execPath, args: ['-e', script], cwd: '/', env: process.env, tag: randomUUID() },
    ...{ graceMs: 60_000, drainMs: 60_000, signal: stop.signal, stdout: read, stderr: read },
    ...differs,
    onSpawn: (id) => {
      pid = id;
      differs.onSpawn?.(id);
    },
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

  it('fails clearly when the program does not exist', async (t) => {
    await assert.rejects(start(t, '', { command: '/no/such/program' }).end, /ENOENT/);
  });

  it('is killed when it cannot be watched', async (t) => {
    const fault = () => {
      throw new Error('disk full');
    };
    const child = start(t, LIVE, { graceMs: 0, drainMs: 20, onSpawn: fault });
    await assert.rejects(child.end, /disk full/);
    await until('the child to be gone', () => child.pid > 0 && !isAlive(child.pid));
  });

  it('is not started when it was stopped before', async (t) => {
    const mark = join(await temporaryFolder(t), 'mark');
    const { end } = start(t, '', { command: 'touch', args: [mark], signal: AbortSignal.abort() });
    await assert.rejects(end, { name: 'AbortError' });
    assert.equal(await exists(mark), false);
  });

  it('may end by itself after SIGTERM', async (t) => {
    const child = start(t, `${LIVE} process.on('SIGTERM', () => process.exit(7)); console.log('up')`);
    await until('the child', () => child.output().includes('up'));
    child.stop.abort();
    assert.equal((await child.end).code, 7);
  });

  it('is killed after the grace period when it ignores SIGTERM', async (t) => {
    const child = start(t, `${LIVE} process.on('SIGTERM', () => console.log('no')); console.log('up')`);
    await until('the child', () => child.output().includes('up'));
    t.mock.timers.enable({ apis: ['setTimeout'] });
    child.stop.abort();
    await until('it to have been asked', () => child.output().includes('no'));
    t.mock.timers.tick(59_999);
    assert.ok(isAlive(child.pid));
    t.mock.timers.tick(1);
    let end: ChildEnd | undefined;
    void child.end.then((ended) => {
      end = ended;
    });
    assert.equal((await until('its end', () => end)).signal, 'SIGKILL');
  });

  it('leaves no grandchild behind, and is not delayed by one that holds its pipes open', async (t) => {
    const child = start(t, FORK);
    assert.equal((await child.end).code, 0);
    const grandchild = Number(/grandchild (\d+)/.exec(child.output())?.[1]);
    assert.ok(grandchild > 0);
    await until('the grandchild to be gone', () => !isAlive(grandchild));
  });

  it('is stopped with all of its group', async (t) => {
    const child = start(t, `${FORK} ${LIVE}`, { graceMs: 50 });
    await until('the grandchild', () => child.output().includes('grandchild'));
    const grandchild = Number(/grandchild (\d+)/.exec(child.output())?.[1]);
    child.stop.abort();
    await child.end;
    await until('the grandchild to be gone', () => !isAlive(grandchild));
  });
});
