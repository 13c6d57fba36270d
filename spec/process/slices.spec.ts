import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { DEFAULT_SETTINGS } from '../../actors/server/core.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { sweep } from '../support/job.ts';
import { ROOT } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type ServerProgram, startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

/** Three slices. */
const TASKS = 2 * DEFAULT_SETTINGS.sliceSize + 100;

const JOB = sweep(TASKS, { retry: { max_attempts: 1 } });

async function post<Answer>({ url }: ServerProgram, path: string, body: object = {}): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, `${path}: ${answer.status}`);
  return (await answer.json()) as Answer;
}

const read = async ({ url }: ServerProgram, id: string): Promise<JobView> =>
  (await (await fetch(`${url}/v1/jobs/${id}`)).json()) as JobView;

const registered = async (server: ServerProgram): Promise<string> => {
  const body = { slots_total: TASKS, version: { packages: { demo: '1.0' } } };
  return (await post<{ worker_id: string }>(server, '/v1/workers/register', body)).worker_id;
};

type Leased = { task_id: string; job_id: string; attempt: number }[];

async function leaseAll(server: ServerProgram, worker: string): Promise<Leased> {
  const all: Leased = [];
  for (;;) {
    const { tasks } = await post<{ tasks: Leased }>(server, `/v1/workers/${worker}/lease`, {
      max_tasks: 1000,
    });
    if (tasks.length === 0) return all;
    all.push(...tasks);
  }
}

/** A state directory with a job that waits, and one whose tasks have all failed; both are copied for each case. */
async function prepare() {
  const state = await mkdtemp(join(tmpdir(), 'jq-spec-'));
  const server = await startServerProgram({ state });
  const failed = await post<JobView>(server, '/v1/jobs', JOB);
  const worker = await registered(server);
  const reports = (await leaseAll(server, worker)).map(({ task_id, attempt }) => ({
    ...{ type: 'fail', worker_id: worker, failure: { error: 'it broke' } },
    ...{ task_id, attempt },
  }));
  for (let i = 0; i < reports.length; i += 1000)
    await post(server, '/v1/tasks/reports', { reports: reports.slice(i, i + 1000) });
  const waiting = await post<JobView>(server, '/v1/jobs', JOB);
  assert.equal((await read(server, failed.id)).status, 'failed');
  await server.terminate();
  return { state, ids: { cancel: waiting.id, retry: failed.id } };
}

describe('a server that is killed between two slices', () => {
  let prepared: Awaited<ReturnType<typeof prepare>>;
  before(async () => {
    prepared = await prepare();
  });
  after(() => rm(prepared.state, { recursive: true, force: true }));

  for (const act of ['cancel', 'retry'] as const) {
    for (const [when, faults, slices] of [
      ['when the first is durable and not acknowledged', { dieAfterCommit: 1 }, 1],
      ['when the second is durable', { dieAfterCommit: 2 }, 2],
    ] as const) {
      test(`${when}, goes on with a ${act} when it is back, and reaches no task twice, nor leases one`, async (t) => {
        const state = join(await temporaryDirectory(t), 'state');
        await cp(prepared.state, state, { recursive: true });
        const id = prepared.ids[act];
        const mortal = await startServerProgram({ state, faults });
        await assert.rejects(post(mortal, `/v1/jobs/${id}/${act}`), 'the server died before it answered');
        await mortal.ended;

        const server = await startServerProgram({ state });
        t.after(() => server.kill());
        const status = { cancel: 'cancelled', retry: 'queued' }[act];
        const told = ({ aggregate }: JobView) =>
          act === 'cancel' ? aggregate.num_cancelled : aggregate.num_queued;
        const first = await read(server, id);
        assert.ok(['cancelling', status].includes(first.status), first.status);
        assert.ok(told(first) >= slices * DEFAULT_SETTINGS.sliceSize, `${told(first)} tasks were told`);
        await until('all have been told', async () => told(await read(server, id)) === TASKS);
        await until('the job says so', async () => (await read(server, id)).status === status);
        const type = { cancel: 'task_cancelled', retry: 'task_requeued' }[act];
        const events = await eventsOf(server, id, type);
        assert.equal(new Set(events).size, TASKS);
        assert.equal(events.length, TASKS);
        const leased = await leaseAll(server, await registered(server));
        const attempts = leased.filter(({ attempt }) => attempt === (act === 'retry' ? 2 : 1)).length;
        // The other job waits as before.
        assert.equal(attempts, act === 'retry' ? TASKS : 0);
        await server.terminate();
        await promisify(execFile)(process.execPath, [`${ROOT}bin/jq-server`, 'check', '--state', state]);
      });
    }
  }
});

test('a server that is killed as it gives a job of very many tasks another priority has given it to all of them', async (t) => {
  const state = await temporaryDirectory(t);
  const server = await startServerProgram({ state });
  await post(server, '/v1/jobs', { ...JOB, pipelines: JOB.pipelines.slice(0, 9) });
  const { id } = await post<JobView>(server, '/v1/jobs', JOB);
  await server.terminate();
  const mortal = await startServerProgram({ state, faults: { dieAfterCommit: 1 } });
  const change = { method: 'PATCH', body: '{"priority":1}', headers: { 'content-type': 'application/json' } };
  await assert.rejects(fetch(`${mortal.url}/v1/jobs/${id}`, change), 'the server died before it answered');
  await mortal.ended;

  const back = await startServerProgram({ state });
  t.after(() => back.kill());
  assert.equal((await read(back, id)).priority, 1);
  const jobs = (await leaseAll(back, await registered(back))).map(({ job_id }) => job_id);
  assert.deepEqual([jobs.length, new Set(jobs)], [TASKS, new Set([id])]);
});

/** The tasks that events of a type are about. */
async function eventsOf({ url }: ServerProgram, id: string, type: string): Promise<string[]> {
  const tasks: string[] = [];
  for (let after = 0; ; ) {
    const answer = await fetch(`${url}/v1/jobs/${id}/events?after_id=${after}&limit=5000`);
    const events = (await answer.json()) as { id: number; type: string; task_id: string }[];
    if (events.length === 0) return tasks;
    after = events.at(-1)?.id ?? after;
    for (const event of events) if (event.type === type) tasks.push(event.task_id);
  }
}
