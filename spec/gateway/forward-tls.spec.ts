import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { request } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { Authority, install } from '../support/certificates.ts';
import { requires } from '../support/requires.ts';
import { json } from '../support/server-that.ts';
import { until } from '../support/until.ts';
import { leaderThat, standbyOf } from './stands-by.ts';
import type { TestGateway } from './support.ts';

/** The status of an answer, whoever vouches for the one that gives it. */
const cancel = ({ port }: TestGateway) =>
  new Promise<number | undefined>((resolve, reject) => {
    const path = '/v1/jobs/job_1/cancel';
    const sent = request(
      { port, path, method: 'POST', rejectUnauthorized: false, agent: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    );
    sent.on('error', reject).end();
  });

/** What Node.js is told at its start; it reads it then, and the specification is in a process that runs. */
function trusts(t: TestContext, file: string): void {
  const before = process.env.NODE_EXTRA_CA_CERTS;
  process.env.NODE_EXTRA_CA_CERTS = file;
  t.after(() => {
    if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
    else process.env.NODE_EXTRA_CA_CERTS = before;
  });
}

describe('a server that stands by, and the one that leads, with TLS', requires('openssl'), () => {
  test('trust each other by an authority that Node.js is told of', async (t) => {
    const authority = await Authority.make(t);
    const [mine, other] = [await authority.certify('mine'), await authority.certify('other')];
    trusts(t, authority.ca);
    const leader = await leaderThat(t, json(200, {}), other);
    const { gateway } = await standbyOf(t, leader.url, mine);
    assert.equal(await cancel(gateway), 200);
  });

  test('trust each other where both show the same certificate, whoever vouches for it, and no other one', async (t) => {
    const authority = await Authority.make(t);
    const [both, another] = [await authority.certify('both'), await authority.certify('another')];
    const leader = await leaderThat(t, json(200, {}), both);
    const { gateway, leadership } = await standbyOf(t, leader.url, both);
    assert.equal(await cancel(gateway), 200);
    leadership.now((await leaderThat(t, json(200, {}), another)).url);
    assert.equal(await cancel(gateway), 503);
  });

  test('answer what is under way when the certificate is renewed', async (t) => {
    const authority = await Authority.make(t);
    const [both, next] = [await authority.certify('both'), await authority.certify('both, renewed')];
    const held: ServerResponse[] = [];
    const leader = await leaderThat(t, (_, response) => void held.push(response), both);
    const { gateway } = await standbyOf(t, leader.url, both);
    const asked = cancel(gateway);
    await until('the one that leads to be asked', () => held.length > 0);
    await install(next, both);
    await gateway.renewTls();
    held[0]?.end('{}');
    assert.equal(await asked, 200);
  });
});
