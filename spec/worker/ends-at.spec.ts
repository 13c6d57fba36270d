import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { allocationOf } from '../../bin/programs/allocation.ts';
import { startTestServer } from '../support/server.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive, pidIn, startTestWorker, submit, taskOf } from './support.ts';

const soon = (seconds: number): number => Date.now() / 1000 + seconds;

describe('a worker that knows when its machine is taken away', () => {
  it('gives back what still runs shortly before, and ends by itself', async (t) => {
    const server = await startTestServer(t);
    const endsAt = soon(8);
    const worker = await startTestWorker(t, server, { endsAt, drainSeconds: 1 });
    const mark = join(await temporaryFolder(t), 'pid');
    const job = await submit(server, { do: 'stubborn', mark }, { retry: { max_attempts: 1 } });
    const child = await pidIn(mark);
    const [view] = await server.client.call('listWorkers');
    assert.equal(view?.capabilities.ends_at, endsAt - 1);
    await worker.ended;
    assert.equal(isAlive(child), false);
    const { status, attempt, max_attempts } = await taskOf(server, job);
    assert.deepEqual([status, attempt, max_attempts], ['queued', 1, 2]);
    const events = await server.client.call('listEvents', { query: { limit: 100 } });
    const types = events.map(({ type }) => type).filter((type) => /^(worker_|task_requeued)/.test(type));
    assert.deepEqual(types, ['worker_registered', 'worker_draining', 'task_requeued', 'worker_stopped']);
  });

  it('ends once it has nothing and would be given nothing more', async (t) => {
    const server = await startTestServer(t);
    const worker = await startTestWorker(t, server, { endsAt: soon(60), drainSeconds: 60 });
    const job = await submit(server, { do: 'echo' });
    await worker.ended;
    assert.equal((await taskOf(server, job)).status, 'queued');
  });

  it('is given no task that it could not finish', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server, { endsAt: soon(300) });
    const job = await submit(server, { do: 'echo' }, { timeout_seconds: 300 });
    const short = await submit(server, { do: 'echo' }, { timeout_seconds: 200 });
    const { waiting_for } = await taskOf(server, job);
    assert.deepEqual(waiting_for, [{ requirement: 'ends_too_early', workers_missing: 1 }]);
    assert.notEqual((await taskOf(server, short)).waiting_for[0]?.requirement, 'ends_too_early');
  });
});

describe('an allocation of Slurm', () => {
  const warned: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => warned.push(JSON.parse(line).msg) });
  /** @param script what `squeue` is; null: it is not there */
  const endIn = async (t: Parameters<typeof temporaryFolder>[0], script: string | null) => {
    const folder = await temporaryFolder(t);
    if (script !== null) {
      await writeFile(join(folder, 'squeue'), `#!/bin/sh\n${script}\n`);
      await chmod(join(folder, 'squeue'), 0o755);
    }
    const PATH = script === null ? folder : [folder, process.env.PATH].join(delimiter);
    return (await allocationOf({ PATH, SLURM_JOB_ID: '17' }, log))?.endsAt;
  };

  it('says in its environment when it ends, from some version on', async () => {
    const env = { SLURM_JOB_ID: '17', SLURM_JOB_END_TIME: '1796000000' };
    assert.deepEqual(await allocationOf(env, log), { endsAt: 1_796_000_000, noticeSeconds: 10 });
    assert.equal(await allocationOf({}, log), null);
  });

  it('has its end from squeue before that version, as a time whose zone is known', async (t) => {
    const asked =
      '[ "$TZ $SLURM_TIME_FORMAT $*" = "UTC standard --noheader --jobs 17 --format %e" ] && echo 2026-11-29T18:00:00';
    assert.equal(await endIn(t, asked), Date.UTC(2026, 10, 29, 18) / 1000);
  });

  it('may have no end, or one that nobody tells: then the worker goes on without it', async (t) => {
    assert.equal(await endIn(t, 'echo N/A'), null);
    assert.deepEqual(warned, []);
    assert.equal(await endIn(t, 'echo "slurm_load_jobs error: Invalid job id" >&2; exit 1'), null);
    assert.equal(await endIn(t, null), null);
    assert.deepEqual(warned, Array(2).fill('squeue does not say when this allocation ends'));
  });
});
