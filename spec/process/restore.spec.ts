import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { ResponseError } from '../../gateway/client/errors.ts';
import { start } from '../cli/cli-support.ts';
import { heard } from '../support/heard.ts';
import { quietPort, ROOT } from '../support/program.ts';
import { until } from '../support/until.ts';
import { check, made, namesIn, pathOf, places, restore, restored, rot, serve } from './backup-support.ts';

/** The code with which a request is refused. */
const refusal = (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => 'taken',
    (fault: unknown) => (fault instanceof ResponseError ? fault.code : String(fault)),
  );

describe('a restored state directory', () => {
  it('holds what the newest backup of a folder holds, is intact, and can be served', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const first = await serve(t, root, { state });
    const kept = await first.submit(2);
    const { artifact_id, bytes } = await first.upload();
    await made(state, to);
    await first.submit();
    const { path } = await made(state, to);
    const lost = await first.submit();
    mkdirSync(target);
    const { code, stdout } = await restore(to, target);
    assert.equal(code, 0);
    assert.ok(stdout.startsWith(`backup   ${path}, as of `), stdout);
    assert.deepEqual(readdirSync(target).sort(), ['lock.sqlite', 'objects', 'store.sqlite']);
    assert.equal((await check(target)).code, 0);
    const { client, server } = await serve(t, root, { state: target });
    assert.equal((await client.call('listJobs', { query: {} })).length, 2);
    assert.equal((await client.call('getJob', { params: { id: kept } })).aggregate.num_tasks, 2);
    assert.equal(await refusal(client.call('getJob', { params: { id: lost } })), 'unknown_id');
    const answer = await fetch(`${server.url}/v1/artifacts/${artifact_id}`);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
  });

  it('may be made from an archive, from a copy of a stopped server, and from one restored before', async (t) => {
    const { root, state, restored: target } = await places(t);
    const { submit, upload, server } = await serve(t, root, { state });
    const id = await submit();
    const { bytes } = await upload(randomBytes(600_000));
    await upload(Buffer.alloc(0));
    const archive = join(root, 'archive.tar');
    const file = openSync(archive, 'w');
    const writer = spawn(`${ROOT}bin/jq-server`, ['backup', '--state', state, '--to', '-'], {
      stdio: ['ignore', file, 'ignore'],
    });
    assert.equal(await new Promise((resolve) => writer.on('exit', resolve)), 0);
    const reader = spawn(`${ROOT}bin/jq-server`, ['restore', '--from', '-', '--state', target], {
      stdio: [openSync(archive, 'r'), 'ignore', 'ignore'],
    });
    assert.equal(await new Promise((resolve) => reader.on('exit', resolve)), 0);
    assert.ok(existsSync(pathOf(target, bytes)));
    await server.terminate();
    const copy = join(root, 'copy');
    cpSync(state, copy, { recursive: true });
    for (const [i, from] of [copy, target].entries()) {
      const state = join(root, `again-${i}`);
      await restored(from, state);
      assert.equal((await check(state)).code, 0);
      const again = await serve(t, root, { state });
      assert.equal((await again.client.call('getJob', { params: { id } })).id, id);
      assert.equal(again.server.stderr, '');
      await again.server.terminate();
    }
  });

  it('is not made where something exists already, nor from a damaged backup or something else, and nothing is left of the attempt', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const { submit, upload, server } = await serve(t, root, { state });
    for (let i = 0; i < 20; i++) await submit(20);
    const { bytes, artifact_id } = await upload();
    const { path } = await made(state, to);
    await server.terminate();
    assert.match((await restore(to, state)).stderr, /state is not empty; restore into a new directory/);
    assert.match(
      (await restore(join(root, 'none'), target)).stderr,
      /there is no store in .*none; see --from/,
    );

    rot(pathOf(path, bytes));
    const lossy = await restore(to, target);
    assert.equal(lossy.code, 1);
    assert.match(lossy.stdout, new RegExp(`of ${artifact_id}: damaged: its bytes have another hash`));
    rmSync(target, { recursive: true });

    const store = join(path, 'store.sqlite');
    const file = openSync(store, 'r+');
    writeSync(file, Buffer.alloc(8192, 0xab), 0, 8192, Math.floor(statSync(store).size / 8192) * 4096);
    const { code, stderr } = await restore(path, target);
    assert.equal(code, 2);
    assert.match(stderr, /the store in .* is damaged \(.*\); (take another backup|restore)/);
    assert.equal(existsSync(target), false);
    assert.equal(existsSync(`${target}.restoring`), false);
  });

  it('is not made from an archive that breaks off, wherever it does', async (t) => {
    const { root, state, restored: target } = await places(t);
    const { upload } = await serve(t, root, { state });
    for (let i = 0; i < 3; i++) await upload();
    const writer = start('jq-server', ['backup', '--state', state, '--to', '-']);
    const pieces: Buffer[] = [];
    writer.child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    await writer.outcome;
    const whole = Buffer.concat(pieces);
    // Between two files, in a file, in a head, in the last one, before the first.
    for (const length of [whole.length - 2048, whole.length - 4096, 700_00, whole.length - 1800, 300, 0]) {
      const reader = spawn(`${ROOT}bin/jq-server`, ['restore', '--from', '-', '--state', target]);
      reader.stdin.on('error', () => {});
      reader.stdin.end(whole.subarray(0, length));
      const { code, stderr } = await heard(reader).outcome;
      assert.equal(code, 2, `${length}: ${stderr}`);
      assert.match(stderr, /error: (the archive (is damaged or )?breaks off|there is no store)/);
      assert.equal(existsSync(target), false);
    }
  });

  it('is made by a second attempt where the first was killed', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const { upload } = await serve(t, root, { state });
    for (let i = 0; i < 40; i++) await upload(randomBytes(100_000));
    await made(state, to);
    // One that was faster than could be seen is undone.
    await until('one to be killed at work', async () => {
      const program = start('jq-server', ['restore', '--from', to, '--state', target]);
      const isAtWork = () => existsSync(join(`${target}.restoring`, 'objects'));
      await until('it to be at work', () => isAtWork() || program.child.exitCode !== null);
      program.child.kill('SIGKILL');
      await program.outcome;
      if (!existsSync(target)) return isAtWork();
      rmSync(target, { recursive: true });
      return false;
    });
    await restored(to, target);
    assert.equal((await check(target)).code, 0);
    assert.equal(existsSync(`${target}.restoring`), false);
  });
});

describe('a worker that registered before the restore', () => {
  it('can report nothing: neither on the attempt that it held, nor on one whose number is given again', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const first = await serve(t, root, { state });
    const job = await first.submit(4);
    const worker = await first.register();
    const held = await first.lease(worker);
    const running = await first.lease(worker);
    await first.start(running.task_id, worker, running.attempt);
    const done = await first.lease(worker);
    await first.start(done.task_id, worker, done.attempt);
    await first.complete(done.task_id, worker, done.attempt);
    await made(state, to);
    // After the moment of the backup: a task that is queued in it, and a worker that it does not know.
    const later = await first.lease(worker);
    await first.start(later.task_id, worker, later.attempt);
    const young = await first.register();
    await first.server.kill();
    await restored(to, target);

    const second = await serve(t, root, { state: target, leaseTtl: 4, heartbeatInterval: 1 });
    for (const [id, session] of [
      [worker, 1],
      [worker, undefined],
      [young, 1],
    ] as const) {
      const params = { id };
      const beat = second.client.call('heartbeat', { params, body: session ? { session } : {} });
      assert.equal(await refusal(beat), 'unknown_id');
      assert.equal(await refusal(second.client.call('lease', { params, body: {} })), 'unknown_id');
    }
    const same = await second.register(worker);
    assert.notEqual(same, worker);
    // It goes on to beat, or its own leases would end as well.
    const beating = setInterval(() => {
      second.client.call('heartbeat', { params: { id: same }, body: {} }).catch(() => {});
    }, 300);
    t.after(() => clearInterval(beating));
    const again = await second.lease(same);
    assert.deepEqual([again.task_id, again.attempt], [later.task_id, later.attempt]);
    await second.start(again.task_id, same, again.attempt);
    for (const { task_id, attempt } of [held, running, done, later]) {
      assert.equal(await refusal(second.start(task_id, worker, attempt)), 'unknown_id');
      assert.equal(await refusal(second.complete(task_id, worker, attempt)), 'unknown_id');
      const query = { worker_id: worker, attempt };
      const fail = second.client.call('failTask', { params: { id: task_id }, query, body: { error: 'x' } });
      assert.equal(await refusal(fail), 'unknown_id');
      const events = { events: [{ message: 'from before' }] };
      const report = second.client.call('reportEvents', { params: { id: task_id }, query, body: events });
      assert.equal(await refusal(report), 'unknown_id');
    }
    // What it held costs nobody an attempt: it is queued again once its lease has expired.
    const once = await second.lease(same, 20);
    const twice = await second.lease(same, 20);
    assert.deepEqual([once.task_id, twice.task_id].sort(), [held.task_id, running.task_id].sort());
    assert.deepEqual([once.attempt, once.max_attempts], [2, 3]);
    for (const { task_id, attempt } of [once, twice]) {
      await second.start(task_id, same, attempt);
      await second.complete(task_id, same, attempt);
    }
    await second.complete(again.task_id, same, again.attempt);
    const view = await second.client.call('getJob', { params: { id: job } });
    assert.deepEqual([view.status, view.aggregate.num_succeeded], ['succeeded', 4]);
  });

  it('goes on by itself, with jq-worker, when a restored server takes the place of its own', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const first = await serve(t, root, { state, port: await quietPort(), leaseTtl: 3, heartbeatInterval: 1 });
    const gate = join(root, 'gate');
    const runner = join(root, 'runner.sh');
    // Takes a second; after the restore it ends at once.
    writeFileSync(
      runner,
      `#!/bin/sh\nwhile [ ! -e ${gate} ]; do sleep 0.1; done\nwhile [ $# -gt 0 ]; do [ "$1" = --result-file ] && echo '{"metrics":{"best_rmse":1}}' > "$2"; shift; done\n`,
      { mode: 0o755 },
    );
    const worker = start('jq-worker', [
      ...['--server', first.server.url, '--state', join(root, 'worker'), '--slots', '2'],
      ...['--runner', `demo@1.0=${runner}`],
    ]);
    t.after(() => worker.child.kill('SIGKILL'));
    const job = await first.submit(3);
    const view = () => first.client.call('getJob', { params: { id: job } });
    await until('two to run', async () => (await view()).aggregate.num_running === 2, 60);
    await made(state, to);
    await first.server.kill();
    await restored(to, target);
    const port = Number(new URL(first.server.url).port);
    const second = await serve(t, root, { state: target, port, leaseTtl: 3, heartbeatInterval: 1 });
    // Beside itself under the other id, which the restore gave to what it was.
    const workers = () => second.client.call('listWorkers');
    await until('the worker to have registered again', async () => (await workers()).length === 2, 90);
    writeFileSync(gate, '');
    await until(
      'the job to end',
      async () => {
        const { status, aggregate } = await second.client.call('getJob', { params: { id: job } });
        return status === 'succeeded' && aggregate.num_succeeded === 3;
      },
      90,
    );
  });
});

describe('events after a restore', () => {
  it('have ids that were never used, and begin with one that says so to a client that goes on after an earlier one', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const first = await serve(t, root, { state });
    await first.submit();
    const { made_at } = await made(state, to);
    for (let i = 0; i < 5; i++) await first.submit();
    const before = await first.client.call('listEvents', { query: { limit: 5000 } });
    const last = before.at(-1)?.id as number;
    await first.server.kill();
    await restored(to, target);
    const twice = join(root, 'twice');
    const second = await serve(t, root, { state: target });
    await second.submit();
    const behind = await second.client.call('listEvents', { query: { after_id: last } });
    assert.deepEqual(
      behind.map(({ type }) => type),
      ['server_restored', 'job_submitted'],
    );
    assert.match(
      behind[0]?.message ?? '',
      /was restored from a backup of 2\d{3}-.*what happened after that is not known/,
    );
    const skipped = Number(behind[0]?.data.skipped);
    assert.deepEqual(behind[0]?.data, { made_at, skipped });
    assert.ok(skipped > 1e15 && skipped < (behind[0]?.id as number), 'so many numbers were never given');
    assert.ok(
      (behind[0]?.id as number) > last && (behind[1]?.id as number) === (behind[0]?.id as number) + 1,
    );
    assert.equal((await check(target)).code, 0);
    // The same backup once more: no id of the first restored server either.
    await restored(to, twice);
    const third = await serve(t, root, { state: twice });
    const anew = await third.client.call('listEvents', { query: { after_id: behind.at(-1)?.id as number } });
    assert.deepEqual(
      anew.map(({ type }) => type),
      ['server_restored'],
    );
  });

  it('that are missing are still a fault of the store', async (t) => {
    const { root, state, to, restored: target } = await places(t);
    const { submit } = await serve(t, root, { state });
    for (let i = 0; i < 5; i++) await submit();
    await made(state, to);
    await restored(to, target);
    const db = await open({ filename: join(target, 'store.sqlite'), driver: sqlite3.Database });
    await db.exec('DELETE FROM events WHERE id = 3');
    await db.close();
    assert.match((await check(target)).stdout, /gaps between events/);
    assert.equal(namesIn(to).length, 1);
  });
});
