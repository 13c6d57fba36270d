import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { givenSince, procfs } from '../../actors/worker/child/proc.ts';
import { killTree, membersOf, signalTree, TAG_VARIABLE } from '../../actors/worker/child/process-tree.ts';
import { psProcesses } from '../../actors/worker/child/ps.ts';
import { Reaper } from '../../actors/worker/child/reaper.ts';
import { choose } from '../../actors/worker/child/system.ts';
import { windowsProcesses } from '../../actors/worker/child/windows.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { isAlive } from './processes.ts';
import { silent } from './quick.ts';

const GUARD = fileURLToPath(new URL('../../actors/worker/child/reaper.sh', import.meta.url));

describe('how processes are observed', () => {
  const systems: [NodeJS.Platform, boolean, string][] = [
    ['linux', true, '/proc'],
    ['linux', false, 'ps'],
    ['darwin', false, 'ps'],
    ['freebsd', true, 'ps'],
    ['win32', false, 'taskkill'],
  ];
  for (const [platform, hasProc, name] of systems) {
    it(`on ${platform} with${hasProc ? '' : 'out'} a /proc: by ${name}`, () =>
      assert.equal(choose(platform, hasProc).name, name));
  }

  it('and what is not guaranteed there is said in sentences', () => {
    assert.deepEqual(procfs.limits, []);
    for (const system of [psProcesses(), windowsProcesses()]) {
      assert.ok(system.limits.length > 0 && system.limits.every((limit) => limit.length > 30));
    }
    const guard = new Reaper(silent);
    guard.stop();
    assert.equal(guard.limits.length, guard.cgroups ? 0 : 1);
  });
});

/** As ps of macOS prints it: padded, days of one digit, a variable with the end of a line in it. */
const MAC = `    1     0     1 Ss   Sat Feb  7 08:12:01 2026     /sbin/launchd
  501     1   501 S    Sat Feb  7 09:00:00 2026     /bin/sh run.sh HOME=/Users/a ${TAG_VARIABLE}=m.1 PS1=>
second line ${TAG_VARIABLE}=m.2
  502   501   501 S+   Sat Feb  7 09:00:01 2026     sleep 1000
  503     1   503 Z    Sat Feb  7 09:00:02 2026     (sleep)
  504     1   504 S    Sat Feb  7 09:00:03 2026     sleep ${TAG_VARIABLE}=m.10
  505     1   505 S    Sat Feb  7 08:59:59 2026     sleep ${TAG_VARIABLE}=m.1
`;

describe('what ps of macOS prints', () => {
  const asked: string[][] = [];
  const processes = psProcesses((words) => {
    asked.push([...words]);
    return MAC;
  });
  const since = Date.UTC(2026, 1, 7, 9) / 1000;

  it('is read: ids, parents, groups, starts in seconds, and which have ended', () => {
    assert.deepEqual(
      processes.table().map(({ pid, parent, group, zombie }) => [pid, parent, group, zombie]),
      [
        [1, 0, 1, false],
        [501, 1, 501, false],
        [502, 501, 501, false],
        [503, 1, 503, true],
        [504, 1, 504, false],
        [505, 1, 505, false],
      ],
    );
    assert.equal(processes.table()[1]?.started, since);
    assert.deepEqual(asked[0]?.slice(0, 2), ['axeww', '-o']);
  });

  it('shows the tags, whole, also after a line break', () => {
    const of = (mark: string) =>
      membersOf({ leader: null, tag: mark, since }, processes).map(({ pid }) => pid);
    assert.deepEqual(of('m.1'), [501, 502]);
    assert.deepEqual(of('m.2'), [501, 502]);
    assert.deepEqual(of('m.10'), [504]);
    assert.deepEqual(of('m'), []);
  });

  it('is nothing when ps finds nothing, or is not there', () => {
    const none = psProcesses(() => assert.fail('ps ends with 1'));
    assert.deepEqual([none.table(), none.rowOf(1)], [[], undefined]);
  });
});

describe('on Windows, played,', () => {
  function play(fault = false) {
    const ran: string[] = [];
    const processes = windowsProcesses((words) => {
      ran.push(words.join(' '));
      if (fault) throw new Error('ERROR: The process "7" not found.');
    });
    return { ran, processes };
  }

  it('a process tree is asked to end by taskkill, and forced to after the grace period', async () => {
    const { ran, processes } = play();
    const family = { leader: 7, tag: 'm', since: 0 };
    signalTree(family, 'SIGTERM', processes);
    assert.deepEqual(await killTree(family, undefined, processes), []);
    assert.deepEqual(ran, ['/PID 7 /T', '/PID 7 /T /F']);
  });

  it('a tree whose root has ended is left alone, since its id may be reused', async () => {
    const { ran, processes } = play();
    assert.equal(processes.groups, false, 'so the leader is forgotten at its end');
    await killTree({ leader: null, tag: 'm', since: 0 }, undefined, processes);
    assert.deepEqual(ran, []);
  });

  it('a tree that is gone is no error', () => {
    const { processes } = play(true);
    signalTree({ leader: 7, tag: 'm', since: 0 }, 'SIGKILL', processes);
  });
});

describe('the reaper where there is no /proc', requires('ps'), () => {
  it('finds processes with the tags by ps, but neither itself nor those that only look like them', async (t) => {
    const folder = await temporaryFolder(t);
    const script = join(folder, 'reaper.sh');
    const text = await readFile(GUARD, 'utf8');
    assert.match(text, /\/proc\//);
    await writeFile(script, text.replaceAll('/proc/', '/nowhere/'));
    const run = randomUUID();
    const start = (mark: string) => {
      const env = { ...process.env, [TAG_VARIABLE]: mark };
      const child = spawn('sleep', ['1000'], { env, detached: true, stdio: 'ignore' });
      atEnd(t, () => child.kill('SIGKILL'));
      return child.pid as number;
    };
    const [ours, others] = [start(`${run}.1`), start(`${randomUUID()}.1`)];
    const guard = spawn('/bin/sh', [script], { stdio: ['pipe', 'ignore', 'ignore'] });
    guard.stdin.end(`= ${TAG_VARIABLE}=${run}.\n`);
    await until('it to be killed', () => !isAlive(ours));
    const [code] = await once(guard, 'exit');
    assert.deepEqual([code, isAlive(others)], [0, true]);
  });
});

describe('the ids that may have been given to other processes since an earlier look', () => {
  const among = (earlier: [number, number] | null, now: [number, number] | null) => {
    const look = (known: [number, number] | null) => known && { last: known[0], at: known[1] };
    return [1, 299, 300, 301, 900, 999].filter(givenSince(look(earlier), look(now), 1000));
  };

  it('are those between what was given last then and now, also where all were given and the first came again', () => {
    assert.deepEqual(among([300, 0], [900, 5]), [301, 900]);
    assert.deepEqual(among([900, 0], [300, 5]), [1, 299, 300, 999]);
    assert.deepEqual(among([300, 0], [300, 5]), []);
  });

  it('are all where the system may have gone round once, or does not tell', () => {
    const all = [1, 299, 300, 301, 900, 999];
    assert.deepEqual(among([300, 0], [900, 10]), all);
    assert.deepEqual(among(null, [900, 5]), all);
    assert.deepEqual(among([300, 0], null), all);
  });
});

describe('processes that started since a moment, by /proc,', requires('proc'), () => {
  const sleeper = async (t: TestContext) => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const pid = child.pid as number;
    const end = async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    };
    atEnd(t, end);
    return { pid, started: procfs.rowOf(pid)?.started ?? 0, end };
  };
  const found = (pid: number, since?: number) => procfs.table(since).some((row) => row.pid === pid);

  it('are all found, however often one looks, and earlier ones are left out once they are known', async (t) => {
    const older = await sleeper(t);
    assert.ok(found(older.pid));
    // Starts are counted in hundredths of a second.
    await until('the next tick', async () => {
      const probe = await sleeper(t);
      await probe.end();
      return probe.started > older.started;
    });
    const newer = await sleeper(t);
    for (let look = 0; look < 3; look++) {
      assert.ok(found(newer.pid, newer.started), 'one that started at that very moment');
      assert.ok(!found(older.pid, newer.started));
      assert.ok(found(older.pid, older.started) && found(older.pid));
    }
  });

  it('are found also under the reused id of an earlier one', async (t) => {
    const older = await sleeper(t);
    assert.ok(found(older.pid));
    await older.end();
    // Asked of the kernel where it may be; elsewhere ids are not used again in the time of a test.
    const next = `/proc/sys/kernel/ns_last_pid`;
    const most = Number(await readFile('/proc/sys/kernel/pid_max', 'utf8'));
    for (let tries = 0; tries < 50; tries++) {
      // Ids come again when all others were given.
      await writeFile(next, `${most - 1000}`).catch(() => {});
      await (await sleeper(t)).end();
      procfs.table();
      await writeFile(next, `${older.pid - 1}`).catch(() => {});
      const newer = await sleeper(t);
      assert.ok(found(newer.pid, newer.started), `process ${newer.pid} after ${older.pid}`);
      if (newer.pid === older.pid) return;
      await newer.end();
    }
  });
});
