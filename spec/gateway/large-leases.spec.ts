import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RawJson } from '../../machines/json/raw.ts';
import { until } from '../support/until.ts';
import { ask, gatewayFor, RawConnection } from './support.ts';

const MIB = 1024 * 1024;

/** A cluster that leases these payloads once and notes when they have been handed out. */
async function leasing(payloads: string[]) {
  const gateway = await gatewayFor();
  const seen = { handedOut: 0 };
  const tasks = payloads.map((text, i) => ({ task_id: `task_${i}`, attempt: 1, payload: new RawJson(text) }));
  gateway.cluster.onSend = (message) =>
    message.type === 'lease'
      ? { tasks, handedOut: () => void seen.handedOut++ }
      : Promise.resolve({ ok: true });
  return Object.assign(gateway, { seen });
}

const LEASE = 'POST /v1/workers/worker_1/lease';

describe('a lease of large tasks', () => {
  it('is answered with all their members, numbers and letters as written', async () => {
    // Two units a letter, after one that moves them across the ends of pieces.
    const payloads = [
      `{"a":1.0,"s":"x${'\u{1F600}'.repeat(200_000)}"}`,
      `{"b":[${'1e3,'.repeat(100_000)}1]}`,
    ];
    await using gateway = await leasing(payloads);
    const several = await ask(gateway.port, { line: LEASE, body: '{"max_tasks":2}' });
    // Such texts are better not shown.
    assert.ok(several.body === `{"task":${payloads[0]},"tasks":[${payloads.join(',')}]}`);
    const one = await ask(gateway.port, { line: LEASE, body: '{}' });
    assert.ok(one.body === `{"task":${payloads[0]}}`);
    await until('both are known to be read', () => gateway.seen.handedOut === 2);
    assert.equal(gateway.cluster.received('lease_undelivered').length, 0);
  });

  it('is under way until its worker has read it, and is undone when the worker goes before', async () => {
    await using gateway = await leasing([JSON.stringify('x'.repeat(64 * MIB))]);
    const connection = await RawConnection.open(gateway.port);
    connection.socket.pause();
    connection.head(LEASE, { 'Content-Length': '0' });
    await until('the lease', () => gateway.cluster.received('lease').length === 1);
    assert.equal((await ask(gateway.port, { line: 'GET /healthz' })).status, 200);
    assert.equal(gateway.seen.handedOut, 0);
    connection.close();
    await until('the room is given back', () => gateway.seen.handedOut === 1);
    await until('the lease is given back', () => gateway.cluster.received('lease_undelivered').length === 1);
  });

  it('counts as under way only until its answer is sent where it is small', async () => {
    await using gateway = await leasing(['{}']);
    assert.equal((await ask(gateway.port, { line: LEASE })).body, '{"task":{}}');
    assert.equal(gateway.seen.handedOut, 1);
  });
});
