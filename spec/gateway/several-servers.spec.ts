import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError, UnreachableError } from '../../gateway/client/errors.ts';
import { inTime } from '../support/in-time.ts';
import { type Answer, json, leads, serverThat, standsBy } from '../support/server-that.ts';

const hangsUp: Answer = (request) => request.socket.destroy();

function clientOf(t: TestContext, ...servers: { url: string }[]): ClusterClient {
  const client = new ClusterClient({ server: servers.map(({ url }) => url).join(', ') });
  t.after(() => client.close());
  return client;
}

const ID = { params: { id: 'job_1' } };
const cancel = (client: ClusterClient) => client.callText('cancelJob', ID);

describe('a client that knows several servers', () => {
  test('has its answer from the one that leads, and asks that one first from then on', async (t) => {
    const [first, second] = [await serverThat(t, standsBy), await serverThat(t, leads)];
    const client = clientOf(t, first, second);
    for (let asked = 0; asked < 3; asked++) await cancel(client);
    assert.deepEqual([first.asked.length, second.asked.length], [1, 3]);
    assert.equal(client.server, second.url);
  });

  test('goes on with the next where the first cannot be reached any more', async (t) => {
    const [first, second] = [await serverThat(t, leads), await serverThat(t, leads)];
    const client = clientOf(t, first, second);
    await cancel(client);
    first.stop();
    await cancel(client);
    assert.deepEqual([first.asked.length, second.asked.length], [1, 1]);
  });

  test('is told so where none leads, after each was asked once', async (t) => {
    const servers = [
      await serverThat(t, standsBy),
      await serverThat(t, standsBy),
      await serverThat(t, standsBy),
    ];
    const isTold = (error: unknown) => error instanceof ResponseError && error.code === 'standing_by';
    await assert.rejects(cancel(clientOf(t, ...servers)), isTold);
    assert.deepEqual(
      servers.map(({ asked }) => asked.length),
      [1, 1, 1],
    );
  });

  test('repeats what only reads where the answer was lost, and nothing else', async (t) => {
    const [first, second] = [await serverThat(t, hangsUp), await serverThat(t, leads)];
    await clientOf(t, first, second).callText('getJob', ID);
    assert.deepEqual(second.asked, ['GET /v1/jobs/job_1']);
    const client = clientOf(t, first, second);
    await assert.rejects(cancel(client), UnreachableError);
    assert.equal(second.asked.length, 1, 'it may have been done');
    await cancel(client);
    assert.equal(second.asked.length, 2, 'what follows goes to the other one');
  });

  test('goes on with the next at once where the first accepts nothing: it is about to end, or cannot reach its store', async (t) => {
    for (const code of ['draining', 'store_unavailable']) {
      const refuses = json(503, { detail: 'nothing was accepted', code });
      const [first, second] = [await serverThat(t, refuses), await serverThat(t, leads)];
      const client = clientOf(t, first, second);
      await cancel(client);
      await client.callText('getJob', ID);
      assert.deepEqual([first.asked.length, second.asked.length], [1, 2], code);
    }
  });

  test('repeats only what reads where something in between refuses, which knows nothing of what was accepted', async (t) => {
    const [first, second] = [await serverThat(t, json(503, { detail: 'busy' })), await serverThat(t, leads)];
    await clientOf(t, first, second).callText('getJob', ID);
    await assert.rejects(cancel(clientOf(t, first, second)), { status: 503 });
    assert.deepEqual([first.asked.length, second.asked.length], [2, 1]);
  });

  test('does not wait long for one that answers nothing, where another one may be asked', async (t) => {
    const [first, second] = [await serverThat(t, () => {}), await serverThat(t, leads)];
    // However long it is patient with one alone.
    const client = new ClusterClient({ server: `${first.url},${second.url}`, timeoutMs: 3_600_000 });
    t.after(() => client.close());
    await inTime('the second to be asked', client.callText('getJob', ID), 60);
    assert.deepEqual([first.asked.length, second.asked.length], [1, 1]);
    assert.equal(client.server, second.url);
  });

  test('gives up on one that answers nothing to anybody: whether what it was asked for was done is not known', async (t) => {
    const [first, second] = [await serverThat(t, () => {}), await serverThat(t, leads)];
    const client = new ClusterClient({ server: `${first.url},${second.url}`, timeoutMs: 3_600_000 });
    t.after(() => client.close());
    await inTime('it to be given up', assert.rejects(cancel(client), UnreachableError), 60);
    await cancel(client);
    assert.deepEqual(
      [first.asked, second.asked],
      [['POST /v1/jobs/job_1/cancel', 'GET /healthz'], ['POST /v1/jobs/job_1/cancel']],
    );
  });

  test('waits for one that takes its time, and answers others', async (t) => {
    let answer = () => {};
    const first = await serverThat(t, (request, response) => {
      if (request.url !== '/healthz') answer = () => leads(request, response);
      else {
        leads(request, response);
        answer();
      }
    });
    const client = clientOf(t, first, await serverThat(t, leads));
    await inTime('the answer', cancel(client), 60);
    assert.deepEqual(first.asked, ['POST /v1/jobs/job_1/cancel', 'GET /healthz']);
    assert.equal(client.server, first.url);
  });

  test('takes what the first one refuses for good as the answer', async (t) => {
    const gone = json(404, { detail: 'no job', code: 'unknown_id' });
    const [first, second] = [await serverThat(t, gone), await serverThat(t, leads)];
    await assert.rejects(cancel(clientOf(t, first, second)), { code: 'unknown_id' });
    assert.deepEqual(second.asked, []);
  });
});
