import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ActiveList } from '../../actors/worker/link/active-list.ts';
import { waitMs } from '../../actors/worker/link/backoff.ts';
import { startHeartbeats } from '../../actors/worker/link/heartbeat.ts';
import { leasesOf } from '../../actors/worker/link/lease.ts';
import { kindOf, linkErrorOf } from '../../actors/worker/link/link-errors.ts';
import { persist } from '../../actors/worker/link/persist.ts';
import { countGpus } from '../../actors/worker/link/registration.ts';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { InvalidResponseError, ResponseError, unreachable } from '../../gateway/client/errors.ts';
import type { LinkEvent } from '../../machines/agent/types.ts';
import { at } from '../../machines/json/raw.ts';
import type { ActiveTask } from '../../machines/schema/worker.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './folder.ts';
import { quick, silent } from './quick.ts';

const answered = (status: number, code = 'internal', retryAfter?: number) =>
  new ResponseError(status, { code: code as never, detail: `${status}` }, retryAfter);

describe('waiting for a server that is away', () => {
  const limits = { baseMs: 100, maxMs: 1000, slowMs: 30_000 };

  it('doubles the wait up to a limit, spread over its upper half', () => {
    const longest = [1, 2, 3, 4, 5, 50].map((n) => waitMs({ limits, random: () => 1 }, n));
    const shortest = [1, 2, 3, 4, 5, 50].map((n) => waitMs({ limits, random: () => 0 }, n));
    assert.deepEqual(longest, [100, 200, 400, 800, 1000, 1000]);
    assert.deepEqual(shortest, [50, 100, 200, 400, 500, 500]);
  });

  it('waits as long as the server asks for, within reason', () => {
    const backoff = { limits, random: () => 1 };
    assert.equal(waitMs(backoff, 1, 5), 5000);
    assert.equal(waitMs(backoff, 1, 1e9), 30_000);
  });
});

describe('what a failed request means', () => {
  const meanings: [string, unknown, ReturnType<typeof kindOf>][] = [
    ['no answer', unreachable('x', new Error('ECONNREFUSED')), 'transient'],
    ['a store that cannot commit', answered(503, 'store_unavailable'), 'transient'],
    ['a proxy in between', answered(502), 'transient'],
    ['too many requests', answered(429), 'transient'],
    ['an answer that is not JSON', new InvalidResponseError('<', false), 'transient'],
    ['an answer that lacks what is needed', new InvalidResponseError('{}', true), 'final'],
    ['a wrong token', answered(401, 'unauthenticated'), 'refused'],
    ['a missing right', answered(403, 'missing_rights'), 'refused'],
    ['another protocol', answered(426, 'incompatible_api'), 'refused'],
    ["another principal's task", answered(403, 'not_owner'), 'final'],
    ['an unknown task', answered(404, 'unknown_id'), 'final'],
    ['a stale attempt', answered(409, 'stale_attempt'), 'final'],
    ['an invalid body', answered(422, 'invalid_body'), 'final'],
    ['a full disk here', Object.assign(new Error('no space'), { code: 'ENOSPC' }), 'local'],
  ];
  for (const [what, fault, kind] of meanings) {
    it(`${what}: ${kind}`, () => assert.equal(kindOf(fault), kind));
  }

  it('a 404 of a heartbeat, or that the worker is of another principal: it has to register anew', () => {
    assert.equal(linkErrorOf(answered(404, 'unknown_id')).kind, 'unknown_worker');
    assert.equal(linkErrorOf(answered(403, 'not_owner')).kind, 'unknown_worker');
    assert.equal(linkErrorOf(answered(401)).kind, 'refused');
    assert.equal(linkErrorOf(answered(503, 'draining', 7)).retryAfter, 7);
  });
});

describe('a request that is repeated', () => {
  const signal = new AbortController().signal;
  const persistence = { backoff: { limits: quick, random: () => 0 }, log: silent, signal };
  /** Fails with each fault in turn, then succeeds. */
  const failing = (...faults: Error[]) => {
    let calls = 0;
    const step = async () => {
      const fault = faults[calls++];
      if (fault) throw fault;
      return calls;
    };
    return { step, calls: () => calls };
  };

  it('succeeds in the end, whatever was unreachable meanwhile', async () => {
    const { step } = failing(unreachable('x', 'y'), answered(503), answered(401));
    assert.equal(await persist('it', step, persistence), 4);
  });

  it('gives up at an answer that will not change', async () => {
    const { step, calls } = failing(answered(409), answered(503));
    await assert.rejects(persist('it', step, persistence), { status: 409 });
    assert.equal(calls(), 1);
  });

  it('is not repeated for ever where it makes the server fail', async () => {
    const { step, calls } = failing(...Array.from({ length: 100 }, () => answered(500)));
    await assert.rejects(persist('it', step, persistence), { status: 500 });
    assert.equal(calls(), 8);
  });

  it('is repeated for ever where giving up would lose a result', async () => {
    const { step } = failing(...Array.from({ length: 20 }, () => answered(500)));
    assert.equal(await persist('it', step, { ...persistence, patient: true }), 21);
  });

  it('ends when it is stopped, in the middle of a wait too', async () => {
    const stop = new AbortController();
    const slow = {
      ...persistence,
      signal: stop.signal,
      backoff: { limits: { ...quick, baseMs: 1e6, maxMs: 1e6 }, random: () => 1 },
    };
    const { step, calls } = failing(answered(503), answered(503));
    const running = persist('it', step, slow);
    await until('the first try', () => calls() === 1);
    stop.abort();
    await assert.rejects(running, { name: 'AbortError' });
  });
});

describe('heartbeats', () => {
  interface Held {
    active: ActiveTask[];
    wait_s: number;
    answer(ids?: string[]): void;
    fail(fault: Error): void;
  }

  /** A server that holds each heartbeat until the test answers it. */
  function beating(interval = 3600) {
    const held: Held[] = [];
    const told: LinkEvent[] = [];
    const active = new ActiveList();
    const client = {
      call: (_: string, { body, signal }: { body: Pick<Held, 'active' | 'wait_s'>; signal: AbortSignal }) =>
        new Promise((resolve, reject) => {
          const answer = (ids: string[] = []) => resolve({ ok: true, cancel_task_ids: ids });
          held.push({ ...body, answer, fail: reject });
          signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
        }),
    } as unknown as ClusterClient;
    const registered = {
      worker_id: 'worker_1',
      heartbeat_interval_s: interval,
      lease_ttl_s: 60,
      rights: [],
      session: 1,
      accepts: [],
    };
    const stop = startHeartbeats({ client, registered, active }, (event) => told.push(event));
    return { held, told, active, stop };
  }
  const task = (task_id: string, attempt = 1): ActiveTask => ({ task_id, attempt });
  const one = <T>(list: T[], at: number): T => list[at] ?? assert.fail(`no request ${at}`);

  it('are held by the server for one interval, and sent one at a time', async () => {
    const { held, told, stop } = beating();
    await until('the first', () => held.length === 1);
    assert.deepEqual([one(held, 0).active, one(held, 0).wait_s], [[], 3600]);
    one(held, 0).answer();
    await until('the answer', () => told.length === 1);
    assert.deepEqual(told, [{ type: 'BEAT' }]);
    stop();
  });

  it('follow each other at once when they were held for their time', async () => {
    const { held, stop } = beating(0.1);
    await until('the first', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    one(held, 0).answer();
    await until('the second', () => held.length === 2);
    stop();
  });

  it('are sent anew as soon as the running tasks have changed, once for changes of one moment', async () => {
    const { held, active, stop } = beating();
    await until('the first', () => held.length === 1);
    active.set([task('task_1')]);
    await new Promise((resolve) => setImmediate(resolve));
    active.set([task('task_1'), task('task_2')]);
    await until('the second', () => held.length === 2);
    assert.deepEqual(one(held, 1).active, [task('task_1'), task('task_2')]);
    stop();
  });

  it('name the tasks to stop with the attempts that the request had listed', async () => {
    const { held, told, active, stop } = beating();
    active.set([task('task_1', 3)]);
    await until('the list to go out', () => held.some(({ active }) => active.length === 1));
    held.find(({ active }) => active.length === 1)?.answer(['task_1', 'task_9']);
    await until('the order', () => told.find((event) => event.type === 'CANCEL'));
    assert.deepEqual(told.at(-1), {
      type: 'CANCEL',
      tasks: [
        { task_id: 'task_1', attempt: 3 },
        { task_id: 'task_9', attempt: null },
      ],
    });
    stop();
  });

  it('still use the answer of a heartbeat that a newer one has overtaken', async () => {
    const { held, told, active, stop } = beating();
    await until('the first', () => held.length === 1);
    active.set([task('task_1')]);
    await until('the second', () => held.length === 2);
    one(held, 0).answer(['task_1']);
    await until('the order', () => told.find((event) => event.type === 'CANCEL'));
    stop();
  });

  it('report once what is wrong, and then stop', async () => {
    const { held, told } = beating();
    await until('the first', () => held.length === 1);
    one(held, 0).fail(answered(404, 'unknown_id'));
    await until('the link error', () => told.length > 0);
    assert.equal(told.length, 1);
    assert.equal(told[0]?.type === 'LINK_ERROR' && told[0].linkError.kind, 'unknown_worker');
    assert.equal(held.length, 1);
  });

  it('report nothing once they are stopped', async () => {
    const { held, told, stop } = beating();
    await until('the first', () => held.length === 1);
    stop();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(told, []);
  });

  it('keep their pace with a server that answers at once', async () => {
    const { held, stop } = beating();
    let answeredOnes = 0;
    const end = performance.now() + 400;
    while (performance.now() < end) {
      for (; answeredOnes < held.length; answeredOnes++) held[answeredOnes]?.answer(['task_unknown']);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(held.length <= 3, `${held.length} heartbeats in 0.4 s`);
    stop();
  });
});

describe('the answer of a lease', () => {
  const payload = (id: string) =>
    `{"task_id":"${id}","job_id":"job_1","type":"demo.run","attempt":1,"max_attempts":2,"pipeline":{},"dataset":{},` +
    '"params":{"a":1.0},"outputs":{"export_best_model":true,"keep_task_workspace":false},"requirements":{},' +
    '"timeout_seconds":null,"rank_metric":"best_rmse","lease_expires_at":1,"assignment":{"mode":"server_leased_executor",' +
    '"assigned_by":"server","executor_principal":"p","worker_id":"w","required_rights":[],"granted_rights":[]}}';

  it('keeps the text of each task, numbers as written', () => {
    const text = `{"task":${payload('task_1')},"tasks":[${payload('task_1')},${payload('task_2')}]}`;
    const leases = leasesOf(text, 'worker_1', silent);
    assert.deepEqual(
      leases.map((lease) => lease.ref),
      ['task_1', 'task_2'].map((task_id) => ({ task_id, attempt: 1, worker_id: 'worker_1' })),
    );
    assert.equal(at(leases[1]?.text ?? '', 'params'), '{"a":1.0}');
  });

  it('may hold one task without a list, or none', () => {
    assert.equal(leasesOf(`{"task":${payload('task_1')}}`, 'w', silent).length, 1);
    assert.deepEqual(leasesOf('{"task":null,"tasks":[]}', 'w', silent), []);
    assert.deepEqual(leasesOf('{"task":null}', 'w', silent), []);
  });

  it('holds tasks that cannot be read too, with what they lack, so that they can be failed', () => {
    const text = `{"task":null,"tasks":[{"task_id":"task_1"},{"pipeline":{}},7,${payload('task_2')}]}`;
    assert.deepEqual(
      leasesOf(text, 'w', silent).map(({ ref, missing }) => [ref.task_id, missing]),
      [
        ['task_1', ['/pipeline', '/dataset']],
        ['task_2', []],
      ],
    );
    assert.throws(() => leasesOf('<html>', 'w', silent), InvalidResponseError);
  });

  it('may be empty in any way', () => {
    for (const text of ['', 'null', '{}', '{"task":null}', '{"task":null,"tasks":null}', '{"tasks":[]}'])
      assert.deepEqual(leasesOf(text, 'w', silent), [], text);
  });
});

describe('the GPUs of a machine', () => {
  it('are those that nvidia-smi lists', async (t) => {
    const program = join(await temporaryFolder(t), 'nvidia-smi');
    const listing =
      'GPU 0: NVIDIA A100 (UUID: GPU-1)\\nGPU 1: NVIDIA A100 (UUID: GPU-2)\\n  MIG 1g: part of it\\n';
    await writeFile(program, `#!/bin/sh\n[ "$1" = -L ] && printf '${listing}'\n`, { mode: 0o755 });
    assert.equal(await countGpus(program), 2);
  });

  it('are none where there is no nvidia-smi', async () => {
    assert.equal(await countGpus('/no/such/nvidia-smi'), 0);
  });
});
