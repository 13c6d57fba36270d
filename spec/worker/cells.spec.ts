import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Cgroups, groupFolder, ownGroup, processesIn } from '../../actors/worker/child/cgroup.ts';
import { AttemptNote, endMarked, readNote } from '../../actors/worker/child/leftovers.ts';
import { killTree } from '../../actors/worker/child/process-tree.ts';
import { Reaper } from '../../actors/worker/child/reaper.ts';
import { runGroup } from '../../actors/worker/child/run-group.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { isAlive, pidIn } from './processes.ts';
import { silent } from './quick.ts';

/** Forks twice, leaves group and session, empties its environment, and notes its id in a file. */
const stray = (file: string) =>
  `(env -i setsid sh -c 'sleep 1000 & echo $! > ${file}.part; mv ${file}.part ${file}' &)`;
/** Waits for a file. */
const waitFor = (file: string) => `while [ ! -e ${file} ]; do sleep 0.01; done`;

function openCells(t: TestContext): Cgroups {
  const cells = Cgroups.open(`jq-spec-${randomUUID()}`) ?? assert.fail('there are no control groups');
  // Whatever went wrong: the kernel ends all of it.
  atEnd(t, async () => {
    await writeFile(join(cells.folder, 'cgroup.kill'), '1').catch(() => {});
    await until('all to be gone', () => {
      cells.close();
      return !existsSync(cells.folder);
    });
  });
  return cells;
}

/** A task with a stray process, under way; `script` is what it does after that. */
async function task(t: TestContext, cells: Cgroups | null, script: string) {
  const file = join(await temporaryFolder(t), 'stray');
  const stop = new AbortController();
  const tag = randomUUID();
  const end = runGroup({
    ...{ command: '/bin/sh', args: ['-c', `${stray(file)}; ${waitFor(file)}; ${script}`], cwd: '/' },
    ...{ env: process.env, tag: tag, cgroups: cells, graceMs: 60_000, signal: stop.signal },
    onSpawn: () => {},
    stdout: (stream) => stream.resume(),
    stderr: (stream) => stream.resume(),
  });
  const pid = await pidIn(file);
  atEnd(t, () => isAlive(pid) && process.kill(pid, 'SIGKILL'));
  return { pid, end, stop, tag };
}

/** The same without anybody who supervises it. */
async function leftOver(t: TestContext, cells: Cgroups, tag: string = randomUUID()) {
  const file = join(await temporaryFolder(t), 'stray');
  const child = cells.startIn(tag, () => spawn('/bin/sh', ['-c', stray(file)], { stdio: 'ignore' }));
  await once(child, 'exit');
  const pid = await pidIn(file);
  atEnd(t, () => isAlive(pid) && process.kill(pid, 'SIGKILL'));
  return { pid, tag };
}

describe(
  'a process that forks twice, leaves its session and empties its environment',
  requires('control group'),
  () => {
    it('ends with its task', async (t) => {
      const cells = openCells(t);
      const { pid, end, tag } = await task(t, cells, 'exit 3');
      const { code, survivors } = await end;
      assert.deepEqual([code, survivors], [3, []]);
      assert.equal(isAlive(pid), false);
      assert.equal(existsSync(cells.path(tag)), false);
    });

    it('is told to stop when its task is, and ends with it', async (t) => {
      const { pid, end, stop } = await task(t, openCells(t), 'sleep 1000');
      assert.ok(isAlive(pid));
      stop.abort();
      assert.equal((await end).signal, 'SIGTERM');
      assert.equal(isAlive(pid), false);
    });

    it('ends also while such processes are started all the time', async (t) => {
      const cells = openCells(t);
      const tag = randomUUID();
      const bomb = 'for i in $(seq 300); do (env -i setsid sleep 1000 &); sleep 0.002; done; sleep 1000';
      const child = cells.startIn(tag, () => spawn('/bin/sh', ['-c', bomb], { stdio: 'ignore' }));
      const exited = once(child, 'exit');
      const cell = cells.path(tag);
      await until('some of them', () => processesIn(cell).length > 5);
      const family = { leader: null, tag, since: 0, cell };
      assert.deepEqual(await killTree(family), []);
      assert.deepEqual(processesIn(cell), []);
      await exited;
    });

    it('ends when the worker program is killed', async (t) => {
      const guard = new Reaper(silent);
      guard.start();
      const cells = guard.cgroups ?? assert.fail('it has cells');
      const { pid } = await leftOver(t, cells, guard.newTag());
      assert.ok(isAlive(pid));
      // What a worker that dies cannot help doing.
      guard.stop();
      await until('it to be killed', () => !isAlive(pid));
      await until('its folder to go', () => !existsSync(cells.folder));
    });

    it('is found and ended by the next worker program when worker and reaper were killed', async (t) => {
      const cells = openCells(t);
      const { pid, tag } = await leftOver(t, cells);
      const note = join(await temporaryFolder(t), 'attempt.json');
      new AttemptNote(note, {}, tag, cells).close();
      assert.equal(await endMarked(note), true);
      assert.equal(isAlive(pid), false);
      assert.equal(existsSync(cells.folder), false);
      assert.equal(await endMarked(note), false);
    });
  },
);

describe('the note of a task', () => {
  it('that names a folder which is no control group leads to none of the processes that it lists', async (t) => {
    const folder = await temporaryFolder(t);
    const tag = randomUUID();
    await mkdir(join(folder, tag));
    const stranger = spawn('sleep', ['1000'], { stdio: 'ignore' });
    atEnd(t, () => stranger.kill('SIGKILL'));
    await writeFile(join(folder, tag, 'cgroup.procs'), `${stranger.pid}\n`);
    const note = join(folder, 'attempt.json');
    new AttemptNote(note, {}, tag, null).close();
    const noted = await readNote(folder, note);
    await writeFile(note, JSON.stringify({ ...noted, cell: join(folder, tag) }));
    assert.equal(await endMarked(note), false);
    assert.ok(isAlive(stranger.pid as number));
  });
});

describe('the control group of a task', requires('control group'), () => {
  it('holds the processes of the task from their first moment on, and never the worker', async (t) => {
    const cells = openCells(t);
    const home = ownGroup();
    const children = ['one', 'two'].map((name) =>
      cells.startIn(name, () => spawn('sleep', ['1000'], { stdio: 'ignore' })),
    );
    atEnd(t, () => Promise.all(children.map((child) => child.kill('SIGKILL') && once(child, 'exit'))));
    assert.deepEqual(
      ['one', 'two'].map((name) => processesIn(cells.path(name))),
      children.map(({ pid }) => [pid]),
    );
    assert.equal(ownGroup(), home);
  });

  it('is entered once another process was moved to where the worker is, for which the kernel makes itself ready', async (t) => {
    const cells = openCells(t);
    await cells.ready();
    const companion = cells.startIn('elsewhere', () => spawn('sleep', ['1000'], { stdio: 'ignore' }));
    atEnd(t, () => companion.kill('SIGKILL') && once(companion, 'exit'));
    cells.companion = companion.pid;
    // Not again where somebody was moved a moment ago.
    await until('it to be moved', async () => {
      await Promise.all([cells.ready(), cells.ready()]);
      return processesIn(cells.path('elsewhere')).length === 0;
    });
    assert.ok(processesIn(ownGroup() ?? '').includes(companion.pid as number));
  });

  it('leaves the worker in its own group when nothing could be started', (t) => {
    const cells = openCells(t);
    const home = ownGroup();
    const fault = () => cells.startIn('it', () => assert.fail('no such program'));
    assert.throws(fault, /no such program/);
    assert.equal(ownGroup(), home);
  });
});

describe('where control groups are made', () => {
  const mount = (root: string, at: string) =>
    `41 31 0:38 ${root} ${at} rw,relatime shared:7 - cgroup2 cgroup2 rw\n`;
  const old = '30 22 0:26 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids\n';

  const places: [string, string, string, string | null][] = [
    [
      'below that of the session',
      '0::/user.slice/a.scope\n',
      mount('/', '/sys/fs/cgroup'),
      '/sys/fs/cgroup/user.slice/a.scope',
    ],
    [
      'beside groups of version 1',
      '8:pids:/x\n0::/\n',
      old + mount('/', '/sys/fs/cgroup/unified'),
      '/sys/fs/cgroup/unified',
    ],
    [
      'in a container that sees only its own',
      '0::/c1/app\n',
      mount('/c1', '/sys/fs/cgroup'),
      '/sys/fs/cgroup/app',
    ],
    ['in a folder with a space', '0::/\n', mount('/', '/my\\040groups'), '/my groups'],
    ['nowhere when its own is not mounted', '0::/other\n', mount('/c1', '/sys/fs/cgroup'), null],
    ['nowhere when it is above what can be seen', '0::/../a\n', mount('/', '/sys/fs/cgroup'), null],
    ['nowhere where there is only version 1', '8:pids:/x\n', old, null],
  ];
  for (const [where, groups, mounts, folder] of places) {
    it(where, () => assert.equal(groupFolder(groups, mounts), folder));
  }

  it('nowhere when this process has no right to, which the worker says at its start', () => {
    assert.equal(Cgroups.open('jq-spec', null), null);
    assert.equal(Cgroups.open('jq-spec', '/no/such/group'), null);
  });
});
