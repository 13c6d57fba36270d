import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { MOST_PEERS } from '../../machines/protocol/peers.ts';
import { until } from '../support/until.ts';
import { ask, gatewayFor } from './support.ts';

async function statusWith(headers: Record<string, string>): Promise<number> {
  await using gateway = await gatewayFor({ headerPrefixes: ['Brand'] });
  return (await ask(gateway.port, { line: 'GET /v1/workers', headers })).status;
}

describe('the protocol of a request', () => {
  for (const api of ['1', '1.4', '1.0.0', ' 1 ', '01']) {
    it(`is compatible when it is '${api}'`, async () => {
      assert.equal(await statusWith({ 'X-CLUSTER-Api': api }), 200);
    });
  }

  it('is compatible when it is not sent', async () => {
    assert.equal(await statusWith({}), 200);
    assert.equal(await statusWith({ 'X-CLUSTER-Api': '' }), 200);
  });

  for (const api of ['2', '0', '10', '2.1', '-1', 'v1', '1x', 'one', '99999999999999999999']) {
    it(`is refused when it is '${api}'`, async () => {
      assert.equal(await statusWith({ 'X-CLUSTER-Api': api }), 426);
    });
  }

  it('is read under every header prefix', async () => {
    assert.equal(await statusWith({ 'X-Brand-Api': '2' }), 426);
    assert.equal(await statusWith({ 'X-CLUSTER-Api': '1', 'x-brand-api': '2' }), 426);
    assert.equal(await statusWith({ 'X-Other-Api': '2' }), 200);
  });
});

describe('a compatible peer of another package version', () => {
  const peer = (role: string, version: string) => ({
    'X-CLUSTER-Api': '1',
    'X-CLUSTER-Role': role,
    'X-CLUSTER-Version': version,
  });

  it('is noted once per role and version', async () => {
    await using gateway = await gatewayFor();
    for (const headers of [
      peer('worker', '1.2.3'),
      peer('worker', '1.2.3'),
      peer('client', '1.2.3'),
      peer('worker', '1.2.4'),
      peer('worker', '9.9.9'),
      {},
    ]) {
      await ask(gateway.port, { line: 'GET /v1/workers', headers });
    }
    const noted = gateway.cluster.received('note_peer').map(({ role, version }) => `${role} ${version}`);
    assert.deepEqual(noted, ['worker 1.2.3', 'client 1.2.3', 'worker 1.2.4']);
  });

  it('is noted under a branded prefix too', async () => {
    await using gateway = await gatewayFor({ headerPrefixes: ['Brand'] });
    await ask(gateway.port, { line: 'GET /v1/workers', headers: { 'X-BRAND-Version': '3' } });
    assert.equal(gateway.cluster.received('note_peer').length, 1);
  });

  it('is not noted when it was refused', async () => {
    await using gateway = await gatewayFor({ principals: ['a:t:viewer'] });
    await ask(gateway.port, { line: 'GET /v1/workers', headers: peer('worker', '1') });
    assert.equal(gateway.cluster.sent.length, 0);
  });

  it('is noted again when the note could not be stored', async () => {
    await using gateway = await gatewayFor();
    const { cluster } = gateway;
    let fails = true;
    cluster.onSend = () => {
      if (fails) throw new ClusterError('store_unavailable', 'the disk is full');
      return { ok: true };
    };
    const request = { line: 'GET /v1/workers', headers: peer('worker', '1') };
    assert.equal((await ask(gateway.port, request)).status, 200, 'the request itself does not suffer');
    fails = false;
    await until('the note', async () => {
      await ask(gateway.port, request);
      return cluster.received('note_peer').length === 2;
    });
    await ask(gateway.port, request);
    assert.equal(cluster.received('note_peer').length, 2);
  });

  it('is noted only with what looks like a version, and as a client where its role is none', async () => {
    await using gateway = await gatewayFor();
    const list = (role: string, version: string) =>
      ask(gateway.port, { line: 'GET /v1/workers', headers: peer(role, version) });
    for (const made of ['v'.repeat(1500), '1.2 or so', 'latest', `1.${'0'.repeat(80)}`, '<b>1</b>']) {
      await list('worker', made);
    }
    assert.deepEqual(gateway.cluster.received('note_peer'), []);
    for (const version of ['2', 'v2.1', '2.1.0rc1', '2.1.dev3+g12ab', '2.1.0-beta.4']) {
      await list('w'.repeat(1500), version);
    }
    const noted = gateway.cluster.received('note_peer');
    assert.deepEqual([noted.length, noted[0]?.role], [5, 'client']);
  });

  it('is not noted any more when there are too many versions, which somebody must be making up', async () => {
    await using gateway = await gatewayFor();
    for (let i = 0; i < MOST_PEERS + 20; i++) {
      await ask(gateway.port, { line: 'GET /v1/workers', headers: peer('client', `9.9.${i}`) });
    }
    assert.equal(gateway.cluster.received('note_peer').length, MOST_PEERS);
    await ask(gateway.port, { line: 'GET /v1/workers', headers: peer('worker', '9.9.1') });
    assert.equal(gateway.cluster.received('note_peer').length, MOST_PEERS + 1, 'workers are counted apart');
  });
});
