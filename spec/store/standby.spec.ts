import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { SupersededError } from '../../machines/protocol/superseded-error.ts';
import { job } from '../support/cluster.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { emptyDatabase } from './drivers.ts';
import { aside } from './postgres-support.ts';

const JOB = job({ name: 'kept' });

async function pair(t: TestContext) {
  const store = await emptyDatabase();
  const first = await startTestServer(t, { store });
  const second = await startTestServer(t, { store });
  return { store, first, second };
}

async function answer(url: string, path: string, init?: RequestInit) {
  const response = await fetch(url + path, init);
  return {
    status: response.status,
    after: response.headers.get('retry-after'),
    body: (await response.json()) as { detail?: string; code?: string },
  };
}

describe('a second server on one database', requires('postgresql'), () => {
  test('stands by: it lives, is not ready, and says who leads to whoever asks for anything else', async (t) => {
    const { first, second } = await pair(t);
    assert.equal(second.state, 'standing_by');
    assert.equal((await answer(second.url, '/healthz')).status, 200);
    await until('the address of the leader to be known', async () =>
      ((await answer(second.url, '/readyz')).body.detail ?? '').includes(first.url),
    );
    for (const [path, init] of [
      ['/readyz'],
      ['/'],
      ['/v1/jobs'],
      ['/v1/events/stream'],
      ['/v1/jobs', { method: 'POST', body: JSON.stringify(JOB) }],
    ] as const) {
      const { status, after, body } = await answer(second.url, path, init);
      assert.deepEqual([status, after, body.code], [503, '1', 'standing_by'], path);
    }
    assert.equal((await answer(first.url, '/readyz')).status, 200);
  });

  test('leads once the first has ended, with all that was acknowledged', async (t) => {
    const { first, second } = await pair(t);
    const { id } = await first.client.call('submitJob', { body: JOB as never });
    await first.stop();
    await second.leads;
    assert.equal(second.state, 'serving');
    assert.equal((await second.client.call('getJob', { params: { id } })).name, 'kept');
    await assert.doesNotReject(second.client.call('submitJob', { body: JOB as never }));
  });

  test('ends without leading when it is told to', async (t) => {
    const { first, second } = await pair(t);
    await second.stop();
    await first.client.call('submitJob', { body: JOB as never });
  });

  test('takes over from one that lost its session, which notices it by itself and ends', async (t) => {
    const { store, first, second } = await pair(t);
    const other = await aside(t, store);
    await other.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'jq-server: turns' AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)",
    );
    await second.leads;
    await assert.rejects(first.ended, SupersededError);
    await assert.rejects(fetch(`${first.url}/healthz`));
    await second.client.call('submitJob', { body: JOB as never });
  });
});
