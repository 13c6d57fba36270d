import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { runGroup } from '../../actors/worker/child/run-group.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';

const SHM = '/dev/shm';

/** Runs a script to its end, as a task is run. @returns the id of its first process */
async function play(t: TestContext, script: string): Promise<number> {
  let pid = 0;
  await runGroup({
    ...{ command: '/bin/sh', args: ['-c', script], cwd: await temporaryFolder(t), env: process.env },
    ...{ tag: `spec-${process.pid}`, graceMs: 100, signal: new AbortController().signal },
    onSpawn(id) {
      pid = id;
    },
    stdout: (stream) => stream.resume(),
    stderr: (stream) => stream.resume(),
  });
  return pid;
}

/** What lies there of these names. @param pattern of this specification alone */
const left = (pattern: RegExp) =>
  readdirSync(SHM)
    .filter((name) => pattern.test(name))
    .sort();

describe('what a task left in shared memory', requires('proc'), () => {
  it('goes with it where it was killed, as far as its name says whose it was', async (t) => {
    const mine = `spec${process.pid}`;
    atEnd(t, () => {
      for (const name of left(new RegExp(mine))) rmSync(join(SHM, name), { recursive: true });
    });
    const makes = [
      `touch ${SHM}/sem.loky-$$-${mine}`,
      `mkdir ${SHM}/joblib_memmapping_folder_$$_${mine}`,
      `touch ${SHM}/joblib_memmapping_folder_$$_${mine}/array.pkl`,
      // Of another process, of none that can be known, and of one that is no part of a name.
      `touch ${SHM}/sem.loky-${process.pid}-${mine} ${SHM}/sem.mp-${mine} ${SHM}/psm_$$_${mine}`,
    ];
    writeFileSync(join(SHM, `sem.loky-1-${mine}`), '');
    const pid = await play(t, `${makes.join('; ')}; kill -9 $$`);
    const stays = [
      `psm_${pid}_${mine}`,
      `sem.loky-1-${mine}`,
      `sem.loky-${process.pid}-${mine}`,
      `sem.mp-${mine}`,
    ];
    assert.deepEqual(left(new RegExp(mine)), stays.sort());
  });

  it('stays where it was there before the task, whose process has the id of its maker', async (t) => {
    const mine = `early${process.pid}`;
    const clear = () => {
      for (const name of left(new RegExp(mine))) rmSync(join(SHM, name));
    };
    atEnd(t, clear);
    const taken = async (): Promise<boolean> => {
      clear();
      // Ids are given in turn: one of these is that of the process, if not too many others are started meanwhile.
      const next = await play(t, 'exit 0');
      const early = Array.from({ length: 400 }, (_, i) => `sem.loky-${next + i}-${mine}`);
      for (const name of early) writeFileSync(join(SHM, name), '');
      const pid = await play(t, 'kill -9 $$');
      assert.equal(left(new RegExp(mine)).length, early.length);
      return pid >= next && pid < next + early.length;
    };
    await until('the process to have one of the ids', taken);
  });
});
