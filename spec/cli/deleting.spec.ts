import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { eventStream } from '../../gateway/client/event-stream.ts';
import { listenFor } from '../support/listen.ts';
import { until } from '../support/until.ts';
import { run } from './cli-support.ts';
import { jobOf } from './played-worker.ts';
import { scene } from './scene.ts';

/** The address of what passes requests on to a server, once something has happened before each. */
async function behind(t: TestContext, url: string, before: (request: IncomingMessage) => Promise<void>) {
  const { hostname, port } = new URL(url);
  const proxy = createServer(async (incoming, outgoing) => {
    await before(incoming);
    const { method, url: path, headers } = incoming;
    const passed = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  return (await listenFor(t, proxy)).url;
}

describe('jobs are deleted and kept by the command line', () => {
  /** Jobs of one task each, in the state that is asked for. */
  async function jobs(t: TestContext, ...ends: ('succeeded' | 'failed' | 'queued')[]) {
    const { server, ctl, submit, play } = await scene(t);
    const worker = await play();
    const ids: string[] = [];
    for (const end of ends) {
      const id = await submit('a.yaml');
      ids.push(id);
      if (end === 'succeeded') await worker.complete(await worker.take());
      if (end === 'failed') await worker.fail(await worker.take(), 'broken');
    }
    const left = async () => (await server.client.call('listJobs')).map(({ id }) => id).sort();
    return { server, ctl, ids, left, worker };
  }

  it('one that is named goes at once, and --dry-run only says so', async (t) => {
    const { ctl, ids, left } = await jobs(t, 'succeeded');
    const [id = ''] = ids;
    const dry = await ctl('delete', id, '--dry-run');
    assert.deepEqual([dry.code, dry.stdout], [0, `${id} would be deleted\n`]);
    assert.deepEqual(await left(), [id]);
    const done = await ctl('delete', id);
    assert.deepEqual([done.code, done.stdout], [0, `${id} deleted\n`]);
    assert.deepEqual(await left(), []);
    const gone = await ctl('status', id);
    assert.equal(gone.code, 2);
  });

  it('those in one state go by --status, and of all that ended only what ended before --before', async (t) => {
    const { ctl, ids, left } = await jobs(t, 'failed', 'succeeded', 'failed', 'queued');
    const [first, good, last, waits] = ids as [string, string, string, string];
    const none = await ctl('delete', '--before', '1h');
    assert.deepEqual([none.code, none.stdout], [0, '']);
    assert.match(none.stderr, /no such jobs/);
    const { code, stdout, stderr } = await ctl('delete', '--status', 'failed');
    assert.equal(code, 0);
    assert.deepEqual(stdout.trim().split('\n').sort(), [`${first} deleted`, `${last} deleted`].sort());
    assert.match(stderr, /2 jobs deleted, 0 not/);
    assert.deepEqual(await left(), [good, waits].sort());
  });

  it('one that somebody retries after it was chosen stays', async (t) => {
    const { server, ctl, ids, left, worker } = await jobs(t, 'failed', 'failed');
    const [retried = '', other = ''] = ids;
    const between = await behind(t, server.url, async ({ method, url }) => {
      if (method !== 'DELETE' || !url?.startsWith(`/v1/jobs/${retried}`)) return;
      await server.client.call('retryJob', { params: { id: retried }, body: {} });
      await worker.complete(await worker.take());
    });
    const { code, stdout, stderr } = await ctl('delete', '--status', 'failed', '--server', between);
    assert.deepEqual([code, stdout], [2, `${other} deleted\n`]);
    assert.match(stderr, /is succeeded by now, not failed, and stays/);
    assert.deepEqual(await left(), [retried]);
  });

  it('what has to stay is told, with the way out, and the others go all the same', async (t) => {
    const { ctl, ids, left } = await jobs(t, 'succeeded', 'succeeded', 'queued');
    const [pinned, good, waits] = ids as [string, string, string];
    assert.equal((await ctl('keep', pinned)).stdout, `${pinned} is kept for ever\n`);
    const { code, stdout, stderr } = await ctl('delete', pinned, good, waits);
    assert.equal(code, 2);
    assert.equal(stdout, `${good} deleted\n`);
    assert.match(
      stderr,
      /is kept for ever, and is not deleted; take that back with: jqctl keep \S+ --default/,
    );
    assert.match(stderr, /is queued; cancel it before it is deleted/);
    assert.match(stderr, /1 job deleted, 2 not/);
    await ctl('keep', pinned, '--default');
    assert.equal((await ctl('delete', pinned)).code, 0);
    assert.deepEqual(await left(), [waits]);
  });

  it('a job says how long it is kept', async (t) => {
    const { server, ctl, ids } = await jobs(t, 'succeeded');
    const [id = ''] = ids;
    const keep = async () => (await server.client.call('getJob', { params: { id } })).keep ?? null;
    const shown = async () => /^kept +(.*)$/m.exec((await ctl('status', id)).stdout)?.[1];
    await ctl('keep', id, '--for', '7d');
    assert.equal(await keep(), '7d');
    assert.match((await shown()) ?? '', /^until \d{4}-\d\d-\d\d \d\d:\d\d/);
    await ctl('keep', id);
    assert.equal(await keep(), 'forever');
    assert.equal(await shown(), 'for ever');
    await ctl('keep', id, '--default');
    assert.equal(await keep(), null);
    assert.equal(await shown(), undefined);
  });

  it("another owner's job is refused with a message, as what one may not do", async (t) => {
    const { server, env } = await scene(t, {
      principals: ['ann:ann-token:submitter', 'bob:bob-token:submitter'],
    });
    const ann = server.clientWith('ann-token');
    const ids: string[] = [];
    for (let i = 0; i < 2; i++) {
      const { id } = await ann.call('submitJob', { body: JSON.parse(jobOf('a.yaml')) });
      await ann.call('cancelJob', { params: { id } });
      ids.push(id);
    }
    const bob = (...argv: string[]) => run(['delete', ...argv], { env: { ...env, JQ_TOKEN: 'bob-token' } });
    const one = await bob(ids[0] as string);
    assert.deepEqual([one.code, one.stdout], [3, '']);
    assert.match(one.stderr, /^error: nobody else deletes job \S+ of 'ann': 'bob' neither submitted it/m);
    assert.equal((await bob(...ids)).code, 3);
    assert.equal((await ann.call('listJobs')).length, 2);
  });

  it('what makes no sense is refused, and deletes nothing', async (t) => {
    const { ctl, ids, left } = await jobs(t, 'succeeded');
    const [id = ''] = ids;
    for (const [argv, why] of [
      [['delete'], /name a job by its id/],
      [['delete', id, '--status', 'failed'], /not both/],
      [['delete', '--status', 'queued'], /queued are not deleted; cancel them first/],
      [['delete', '--status', 'odd'], /--status: 'odd' is none of/],
      [['delete', '--before', 'yesterday'], /--before: 'yesterday' is no length of time/],
      [['delete', 'no such job'], /no job/],
      [['keep', id, '--for', 'long'], /--for: 'long' is no length of time/],
      [['keep', id, '--for', '7d', '--default'], /not both/],
    ] as const) {
      const { code, stderr } = await ctl(...argv);
      assert.equal(code, 2, argv.join(' '));
      assert.match(stderr, why);
    }
    assert.deepEqual(await left(), [id]);
  });

  it('events that were deleted are told by one in their place, in the list and on the terminal', async (t) => {
    const { server, ctl, ids } = await jobs(t, 'succeeded');
    await ctl('delete', ids[0] as string);
    const told = async () => (await ctl('events', '--after-id', '0')).stdout;
    await until('the events to go', async () => /\d+ events from \d+ to \d+ were deleted/.test(await told()));
    const events = await server.client.call('listEvents', { query: { after_id: 0 } });
    assert.deepEqual(
      events.filter(({ job_id }) => job_id === ids[0]).map(({ type }) => type),
      ['job_deleted'],
    );
    const streamed: unknown[] = [];
    for await (const event of eventStream({ client: server.client, afterId: 0 })) {
      streamed.push(event);
      if (streamed.length === events.length) break;
    }
    assert.deepEqual(streamed, events, 'a stream from before is told the same');
    assert.ok(events.some(({ type }) => type === 'gap'));
  });
});
