import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { JOB } from '../support/job.ts';
import { startTestServer } from '../support/server.ts';
import { idsUpTo } from './feed-support.ts';

/** A server with ten events, of ten jobs. */
async function withTenEvents(t: TestContext) {
  const server = await startTestServer(t);
  for (let i = 0; i < 10; i++) {
    await server.client.call('submitJob', { body: JOB });
  }
  return async (query: { after_id?: number; before_id?: number; limit?: number }) =>
    (await server.client.call('listEvents', { query })).map(({ id }) => id);
}

describe('the history of all events', () => {
  it('lists the last ones, oldest first', async (t) => {
    const ids = await withTenEvents(t);
    assert.deepEqual(await ids({}), idsUpTo(10));
    assert.deepEqual(await ids({ limit: 3 }), [8, 9, 10]);
    assert.deepEqual(await ids({ limit: 1_000_000 }), idsUpTo(10));
  });

  it('is read forwards from an id, and backwards from one', async (t) => {
    const ids = await withTenEvents(t);
    assert.deepEqual(await ids({ after_id: 0, limit: 3 }), [1, 2, 3]);
    assert.deepEqual(await ids({ after_id: 8 }), [9, 10]);
    assert.deepEqual(await ids({ after_id: 10 }), []);
    assert.deepEqual(await ids({ before_id: 8, limit: 3 }), [5, 6, 7]);
    assert.deepEqual(await ids({ after_id: 4, before_id: 8 }), [5, 6, 7]);
  });
});
