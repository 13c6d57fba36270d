import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { AttemptNote, endMarked, readNote } from '../../actors/worker/child/leftovers.ts';
import { procfs, statOf } from '../../actors/worker/child/proc.ts';
import {
  killTree,
  membersOf,
  type ProcessTree,
  signalTree,
  TAG_VARIABLE,
} from '../../actors/worker/child/process-tree.ts';
import type { Processes } from '../../actors/worker/child/processes.ts';
import { psProcesses } from '../../actors/worker/child/ps.ts';
import { Reaper } from '../../actors/worker/child/reaper.ts';
import { type Needing, requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { isAlive, pidIn } from './processes.ts';
import { silent } from './quick.ts';

interface Tree extends ProcessTree {
  leader: number;
  /** Resolves once the leader has ended. */
  exited: Promise<unknown>;
  /** The process that the script said to be of this name, by `tell NAME`. */
  pid(name: string): Promise<number>;
}

/** A shell script as the leader of a group and session of its own, marked as a task; all of it ends with the test. */
async function start(
  t: TestContext,
  script: string,
  tag: string = randomUUID(),
  processes: Processes = procfs,
): Promise<Tree> {
  const folder = await temporaryFolder(t);
  const tell = `tell() { echo $! > ${folder}/$1.part; mv ${folder}/$1.part ${folder}/$1; };`;
  const env = { ...process.env, [TAG_VARIABLE]: tag };
  const child = spawn('/bin/sh', ['-c', `${tell} ${script}`], { env, detached: true, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const leader = child.pid as number;
  const family = { leader, tag, since: processes.rowOf(leader)?.started ?? 0 };
  atEnd(t, () => killTree({ ...family, since: 0 }));
  return { ...family, exited, pid: (name) => pidIn(join(folder, name)) };
}

/** Whether a process executes this program by now. */
const isNamed = async (pid: number, program: string): Promise<boolean> =>
  (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).startsWith(program);

const SLEEP = 'sleep 1000 & tell sleep; wait';
/** Leaves group and session; its parent is gone at once. */
const DAEMON = '(setsid sleep 1000 & tell daemon)';

const systems: [Processes, Needing][] = [
  [procfs, requires('proc')],
  [psProcesses(), requires('ps')],
];

for (const [processes, needs] of systems) {
  describe(`the processes of a task, by ${processes.name},`, needs, () => {
    const begin = (t: TestContext, script: string, tag?: string) => start(t, script, tag, processes);
    const pidsOf = (family: ProcessTree) => membersOf(family, processes).map(({ pid }) => pid);

    it('are its group, with all that was forked into it', async (t) => {
      const tree = await begin(t, `sh -c '${SLEEP.replace('tell sleep', 'true')}' & tell shell; wait`);
      const shell = await tree.pid('shell');
      await until('three processes', () => pidsOf(tree).length === 3);
      const pids = pidsOf(tree);
      assert.ok(pids.includes(tree.leader) && pids.includes(shell));
    });

    it('include those that left group and session and whose parent is gone', async (t) => {
      const tree = await begin(t, `${DAEMON}; ${SLEEP}`);
      const daemon = await tree.pid('daemon');
      await until('a session of its own', () => statOf(daemon)?.session === daemon);
      assert.notEqual(statOf(daemon)?.parent, tree.leader);
      assert.ok(pidsOf(tree).includes(daemon));
    });

    it('include those with an emptied environment, while it is known who started them', async (t) => {
      const tree = await begin(t, 'env -i setsid sleep 1000 & tell bare; wait');
      const bare = await tree.pid('bare');
      await until('it to be bare', async () => {
        return (await isNamed(bare, 'sleep')) && statOf(bare)?.session === bare;
      });
      assert.ok(pidsOf(tree).includes(bare));
    });

    it("are not another task's, nor any that were there before", async (t) => {
      const tag = randomUUID();
      const [one, other] = [await begin(t, SLEEP, tag), await begin(t, SLEEP, `${tag}1`)];
      await one.pid('sleep');
      await other.pid('sleep');
      const ours = new Set(pidsOf(one));
      assert.deepEqual(
        [ours.has(one.leader), ours.has(other.leader), ours.has(process.pid)],
        [true, false, false],
      );
      assert.deepEqual(pidsOf({ ...one, since: one.since + 1_000_000 }), []);
    });

    it('are all signalled, wherever they went', async (t) => {
      const tree = await begin(t, `${DAEMON}; ${SLEEP}`);
      const pids = [tree.leader, await tree.pid('sleep'), await tree.pid('daemon')];
      // Between a fork and what it then executes, a process may be hidden from one look, and a signal is one look.
      for (const pid of pids.slice(1)) await until(`${pid} to sleep`, () => isNamed(pid, 'sleep'));
      signalTree(tree, 'SIGTERM', processes);
      for (const pid of pids) await until(`${pid} to end`, () => !isAlive(pid));
    });

    it('are killed until none is left, also those that are forked meanwhile', async (t) => {
      const fork = 'while :; do setsid sleep 1000 & sleep 0.002; done';
      const tree = await begin(t, `trap '' TERM; (${fork}) & ${SLEEP}`);
      await tree.pid('sleep');
      await until('some of them', () => pidsOf(tree).length > 5);
      // Only the marks tell of those that left the group.
      const family = { ...tree, leader: null };
      assert.deepEqual(await killTree(family, undefined, processes), []);
      assert.deepEqual(pidsOf(family), []);
    });
  });
}

describe('a process of a task that an earlier worker program left running', () => {
  function noteIn(t: TestContext, file: string, { tag }: Tree): AttemptNote {
    const note = new AttemptNote(file, {}, tag, null);
    atEnd(t, () => note.close());
    return note;
  }

  /** Processes that nobody supervises, noted in a file. */
  async function leftOver(t: TestContext, script: string) {
    const tree = await start(t, script);
    const file = join(await temporaryFolder(t), 'attempt.json');
    noteIn(t, file, tree).leader(tree.leader);
    return { tree, file };
  }

  it('is killed', async (t) => {
    const { tree, file } = await leftOver(t, SLEEP);
    const sleep = await tree.pid('sleep');
    assert.equal(await endMarked(file), true);
    assert.deepEqual([isAlive(tree.leader), isAlive(sleep)], [false, false]);
  });

  it('is killed even when its leader is gone and it left the group', async (t) => {
    const { tree, file } = await leftOver(t, `${DAEMON}; sleep 0.1`);
    const daemon = await tree.pid('daemon');
    await tree.exited;
    assert.ok(isAlive(daemon));
    assert.equal(await endMarked(file), true);
    assert.equal(isAlive(daemon), false);
  });

  it('is killed where the crash came between the start of the child and the note of its id', async (t) => {
    const { tree, file } = await leftOver(t, SLEEP);
    await rm(file);
    noteIn(t, file, tree);
    assert.equal(await endMarked(file), true);
    assert.equal(isAlive(tree.leader), false);
  });

  it('is killed where the disk had no room for the whole note of its id', async (t) => {
    const { tree, file } = await leftOver(t, SLEEP);
    await rm(file);
    noteIn(t, file, tree);
    await appendFile(file, '{"pid":');
    assert.equal(await endMarked(file), true);
    assert.equal(isAlive(tree.leader), false);
  });

  it('is named by a note that was opened before it came to life, whatever it has put in its place', async (t) => {
    const tree = await start(t, SLEEP);
    const file = join(await temporaryFolder(t), 'attempt.json');
    const note = noteIn(t, file, tree);
    await rename(file, `${file}.aside`);
    await writeFile(file, 'its own');
    note.leader(tree.leader);
    assert.equal(await readFile(file, 'utf8'), 'its own');
    assert.equal((await readNote(dirname(file), `${file}.aside`)).pid, tree.leader);
  });

  it('is left alone when its process id belongs to another process by now', async (t) => {
    const { tree, file } = await leftOver(t, SLEEP);
    const noted = await readNote(dirname(file), file);
    await writeFile(
      file,
      JSON.stringify({ ...noted, mark: 'another', started: (noted.started as number) - 1 }),
    );
    assert.equal(await endMarked(file), false);
    await writeFile(file, JSON.stringify({ ...noted, boot: 'another' }));
    assert.equal(await endMarked(file), false);
    assert.ok(isAlive(tree.leader));
  });

  it('needs no kill once it has ended, or where its note is missing or broken', async (t) => {
    const { tree, file } = await leftOver(t, 'sleep 0.1');
    await tree.exited;
    assert.equal(await endMarked(file), false);
    assert.equal(await endMarked('/no/such/mark'), false);
    for (const text of ['{', '{}', '{"mark":"","boot":"x"}', '{"mark":"m","boot":"x","pid":-1}', 'null']) {
      await writeFile(file, text);
      assert.equal(await endMarked(file), false);
    }
  });
});

describe('the reaper of a worker program', () => {
  it('kills the processes with the tags of its worker, and no others, when the pipe between them ends', async (t) => {
    const [guard, other] = [new Reaper(silent), new Reaper(silent)];
    for (const one of [guard, other]) one.start();
    t.after(() => other.stop());
    const mine = await start(t, `${DAEMON}; ${SLEEP}`, guard.newTag());
    const also = await start(t, SLEEP, guard.newTag());
    const others = await start(t, SLEEP, other.newTag());
    const daemon = await mine.pid('daemon');
    const pids = [mine.leader, also.leader, daemon, await mine.pid('sleep'), await also.pid('sleep')];
    // What a worker that dies cannot help doing.
    guard.stop();
    for (const pid of pids) await until(`${pid} to be killed`, () => !isAlive(pid));
    assert.ok(isAlive(others.leader));
  });

  it('kills the groups that it was told of, tagged or not, but not those that have ended, whose ids may be reused', async (t) => {
    const guard = new Reaper(silent);
    guard.start();
    const [one, two] = [await start(t, SLEEP), await start(t, SLEEP)];
    guard.watch(one.leader);
    guard.watch(two.leader);
    guard.release(one.leader);
    guard.stop();
    await until('the second to be killed', () => !isAlive(two.leader));
    assert.ok(isAlive(one.leader));
  });

  it('is replaced when it is killed, by one that knows all that it knew', async (t) => {
    const guard = new Reaper(silent);
    guard.start();
    const tree = await start(t, SLEEP);
    guard.watch(tree.leader);
    const first = guard.pid ?? assert.fail('there is no guard');
    process.kill(first, 'SIGKILL');
    await until('another guard', () => {
      guard.start();
      return guard.pid !== undefined && guard.pid !== first;
    });
    guard.stop();
    await until('the group to be killed', () => !isAlive(tree.leader));
  });

  it('survives the signals that stop the worker in good order', async () => {
    const guard = new Reaper(silent);
    guard.start();
    const pid = guard.pid ?? assert.fail('there is no guard');
    await until('it to be deaf', async () =>
      /SigIgn:\s*[0-9a-f]*4003\b/.test(await readFile(`/proc/${pid}/status`, 'utf8')),
    );
    process.kill(pid, 'SIGTERM');
    process.kill(pid, 'SIGINT');
    assert.ok(isAlive(pid));
    guard.stop();
    await until('its end', () => !isAlive(pid));
  });
});
