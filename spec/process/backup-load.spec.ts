import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { start } from '../cli/cli-support.ts';
import { entriesBelow } from '../support/files.ts';
import { Seeded } from '../support/seeded.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { check, inodeOf, namesIn, pathOf, places, restored, serve } from './backup-support.ts';

/** What the server acknowledged to a client. */
interface Ledger {
  jobs: string[];
  succeeded: string[];
  objects: { artifact_id: string; bytes: Buffer }[];
}

const nothing = (): Ledger => ({ jobs: [], succeeded: [], objects: [] });
const copyOf = ({ jobs, succeeded, objects }: Ledger): Ledger => ({
  jobs: [...jobs],
  succeeded: [...succeeded],
  objects: [...objects],
});

/** Submits, uploads and works until it is stopped or its server is gone, and keeps account of what was acknowledged. */
function load(serving: Awaited<ReturnType<typeof serve>>, ledger: Ledger) {
  let isOver = false;
  const loop = async (step: () => Promise<void>) => {
    while (!isOver) await step();
  };
  const work = Promise.allSettled([
    loop(async () => {
      ledger.jobs.push(await serving.submit(2));
    }),
    loop(async () => {
      ledger.objects.push(await serving.upload(randomBytes(5000)));
    }),
    (async () => {
      const worker = await serving.register();
      await loop(async () => {
        const { task_id, attempt } = await serving.lease(worker, 5);
        await serving.start(task_id, worker, attempt);
        await serving.complete(task_id, worker, attempt);
        ledger.succeeded.push(task_id);
      });
    })(),
  ]);
  return async () => {
    isOver = true;
    await work;
  };
}

describe('backups of a server under load', () => {
  it('hold all that was acknowledged before they began, whatever is killed in the middle', async (t) => {
    const random = new Seeded(20);
    const { root, state, to, restored: target } = await places(t);
    const ledger = nothing();
    let serving = await serve(t, root, { state, leaseTtl: 5, heartbeatInterval: 2 });
    let stop = load(serving, ledger);
    t.after(() => stop());
    await until('some work to be done', () => ledger.succeeded.length > 20 && ledger.objects.length > 20);
    for (const victim of ['backup', 'server', 'backup', 'server', 'backup', 'nobody'] as const) {
      const before = copyOf(ledger);
      const names = namesIn(to);
      const program = start('jq-server', ['backup', '--state', state, '--to', to, '--keep', '2']);
      if (victim !== 'nobody') {
        // At a moment while it is at work, or soon after its end.
        await until(
          'it to begin',
          () => existsSync(join(to, 'unfinished')) || program.child.exitCode !== null,
        );
        await delay(random.below(150));
        if (victim === 'server') await serving.server.kill();
        else program.child.kill('SIGKILL');
      }
      const { code, signal } = await program.outcome;
      if (victim === 'server') {
        assert.equal(code, 0, program.said.stderr);
        await stop();
        serving = await serve(t, root, { state, leaseTtl: 5, heartbeatInterval: 2 });
        stop = load(serving, ledger);
      }
      const made = namesIn(to).filter((name) => !names.includes(name));
      if (signal === null) assert.equal(made.length, 1);
      for (const name of namesIn(to)) assert.equal((await check(join(to, name))).code, 0, name);
      if (made.length === 0) continue;
      // What has come since the moment of the backup may be in it or not.
      rmSync(target, { recursive: true, force: true });
      await restored(join(to, made[0] as string), target);
      const again = await serve(t, root, { state: target });
      for (const { artifact_id, bytes } of before.objects) {
        const answer = await fetch(`${again.server.url}/v1/artifacts/${artifact_id}`);
        assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
      }
      const tasks = new Map<string, string>();
      for (const id of before.jobs)
        for (const task of await again.client.call('listJobTasks', { params: { id } }))
          tasks.set(task.id, task.status);
      for (const id of before.succeeded) assert.equal(tasks.get(id), 'succeeded');
      await again.server.terminate();
    }
    await stop();
    // Every file of every backup has the name of its hash.
    for (const entry of await entriesBelow(to)) {
      if (!/^[0-9a-f]{64}$/.test(entry.name) || !entry.isFile()) continue;
      assert.equal(sha256(readFileSync(join(entry.parentPath, entry.name))), entry.name);
    }
  });

  it('reuse the objects that a killed backup left behind', async (t) => {
    const { root, state, to } = await places(t);
    const { upload } = await serve(t, root, { state });
    const objects: Buffer[] = [];
    for (let i = 0; i < 60; i++) objects.push((await upload(randomBytes(100_000))).bytes);
    const stage = join(to, 'unfinished');
    const there = () => objects.filter((bytes) => existsSync(pathOf(stage, bytes)));
    // One that was faster than could be seen is undone.
    await until('one to be killed at work', async () => {
      const program = start('jq-server', ['backup', '--state', state, '--to', to]);
      await until('some objects to be there', () => there().length >= 10 || program.child.exitCode !== null);
      program.child.kill('SIGKILL');
      await program.outcome;
      if (namesIn(to).length === 0) return there().length >= 10;
      rmSync(to, { recursive: true });
      return false;
    });
    const left = there();
    const inodes = left.map((bytes) => inodeOf(pathOf(stage, bytes)));
    const { outcome } = start('jq-server', ['backup', '--state', state, '--to', to, '--json']);
    const { stdout } = await outcome;
    const { path, objects: told } = JSON.parse(stdout);
    assert.equal(told.copied, 60 - left.length);
    assert.deepEqual(
      left.map((bytes) => inodeOf(pathOf(path, bytes))),
      inodes,
    );
    assert.equal((await check(path)).code, 0);
    assert.equal(existsSync(stage), false);
  });
});
