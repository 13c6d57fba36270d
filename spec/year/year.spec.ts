import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { fastFolder } from '../model/base.ts';
import { liveThroughYear, type YearOptions } from './run.ts';

/** As many as make up a short year. */
const DAYS = 5;

async function live(t: TestContext, differs: Partial<YearOptions> = {}) {
  const folder = await mkdtemp(join(fastFolder(), 'jq-year-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const onLine = (line: string) => t.diagnostic(line);
  const options = { days: DAYS, seed: 1, folder, isCleared: true, isMeasured: false, onLine };
  return liveThroughYear({ ...options, ...differs } as YearOptions);
}

/** Takes the last job out of a store, as if its commit had been acknowledged and not been durable. */
async function forgetTheLast(state: string): Promise<void> {
  const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
  await db.run('DELETE FROM jobs WHERE seq = (SELECT MAX(seq) FROM jobs)');
  await db.close();
}

describe('a server in a simulated year of only a few days', () => {
  test('keeps what it has to, deletes the rest for good, and has backups that restore', async (t) => {
    const { counts, withoutFullDisk } = await live(t);
    t.diagnostic(JSON.stringify(counts));
    if (withoutFullDisk !== null) t.diagnostic(`the disk was never full: ${withoutFullDisk}`);
    assert.equal(counts.fullDisks, withoutFullDisk === null ? 1 : 0);
    assert.equal(counts.upgrades, 2);
    assert.ok(counts.crashes >= 5, `${counts.crashes} crashes`);
    assert.ok(counts.submitted > 50 && counts.tasks > 500, `${counts.submitted} jobs, ${counts.tasks} tasks`);
    assert.ok(counts.restored >= 1 && counts.rotations >= 1 && counts.looks >= DAYS - 1);
    assert.ok(counts.deleted > 20, `${counts.deleted} jobs were deleted`);
  });

  test('is found to be wrong where a crash loses a job that was acknowledged', async (t) => {
    await assert.rejects(live(t, { afterCrash: forgetTheLast }), /job \w+ is lost/);
  });
});
