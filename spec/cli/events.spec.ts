import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { EventView } from '../../machines/schema/views.ts';
import { until } from '../support/until.ts';
import { run, start } from './cli-support.ts';
import { anEvent, fakeServer } from './fake-server.ts';
import { restarted, scene } from './scene.ts';

const linesOf = (stdout: string) => stdout.trimEnd().split('\n').filter(Boolean);
const idsOf = (stdout: string) => linesOf(stdout).map((line) => (JSON.parse(line) as EventView).id);
const idsUpTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** A server on which one job of one task was played to its end. */
async function withOneJob(t: TestContext) {
  const { ctl, submit, play } = await scene(t);
  const worker = await play();
  const id = await submit('a.yaml');
  const task = await worker.take();
  await worker.report(task, [
    { type: 'log', message: 'fold 1\nfold 2' },
    { type: 'progress', progress: 0.5 },
  ]);
  await worker.complete(task);
  return { ctl, id, task };
}

describe('events', () => {
  it('prints what happened to all jobs and workers, each line with what it is about', async (t) => {
    const { ctl, id, task } = await withOneJob(t);
    const { code, stdout, stderr } = await ctl('events');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^\S+ worker played \(worker_\w+\) registered/m);
    assert.match(stdout, new RegExp(`^\\S+ job played \\(${id}\\) is running$`, 'm'));
    assert.match(stdout, new RegExp(`^\\S+ ${task.task_id} a × data/corn leased, attempt 1 of 2$`, 'm'));
    assert.match(stdout, new RegExp(`^\\S+ ${task.task_id} \\| fold 2$`, 'm'));
    assert.match(stdout, new RegExp(`^\\S+ ${task.task_id} progress 50%$`, 'm'));
  });

  it('prints the last ones, as many as asked for, or all after one of them', async (t) => {
    const { server, ctl, submit } = await scene(t);
    await submit(...Array.from({ length: 40 }, (_, i) => `${i}.yaml`));
    for (const id of await server.client.call('listJobs')) {
      await server.client.call('cancelJob', { params: { id: id.id } });
    }
    const all = await server.client.call('listEvents', { query: { limit: 5000 } });
    const last = all.at(-1)?.id as number;
    assert.ok(last > 40);
    const at = async (...argv: string[]) => idsOf((await ctl('events', '--json', ...argv)).stdout);
    assert.deepEqual(await at(), idsUpTo(last, last - 19));
    assert.deepEqual(await at('--limit', '3'), idsUpTo(last, last - 2));
    assert.deepEqual(await at('--after-id', '5'), idsUpTo(last, 6));
    assert.deepEqual(await at('--after-id', String(last)), []);
  });

  it('reads all after one of them page by page', async () => {
    const events = Array.from({ length: 12_345 }, (_, i) => anEvent({ id: i + 1 }));
    const server = await fakeServer({
      'GET /v1/events': ({ url }) => {
        const query = new URL(url ?? '', 'http://x').searchParams;
        const after = Number(query.get('after_id'));
        return { body: events.slice(after, after + Number(query.get('limit'))) };
      },
    });
    const { stdout } = await run(['events', '--json', '--after-id', '0', '--server', server.url]);
    await server.stop();
    assert.deepEqual(idsOf(stdout), idsUpTo(12_345));
    assert.equal(server.requests.length, 3);
  });

  it('--follow goes on with new events, over a restart of the server, none missed or doubled', async (t) => {
    const { server, begins, submit } = await scene(t);
    await submit('a.yaml');
    const { said, outcome } = begins('events', '--follow', '--json', '--limit', '1');
    await until('the last event', () => linesOf(said.stdout).length === 1);
    await submit('b.yaml');
    await until('a live event', () => linesOf(said.stdout).length === 2);
    await restarted(t, server, said);
    await submit('c.yaml');
    await until('an event after the restart', () => said.stdout.includes('"id":3'));
    process.emit('SIGTERM');
    assert.equal((await outcome).code, 143);
    assert.deepEqual(idsOf(said.stdout), idsUpTo(3));
  });

  it('--follow on a server without events begins with the first', async (t) => {
    const { env, submit } = await scene(t);
    const { child, said, outcome } = start('jqctl', ['events', '-f', '--json'], env);
    t.after(() => child.kill('SIGKILL'));
    await submit('a.yaml');
    await until('the first event', () => said.stdout.includes('"id":1'));
    await submit('b.yaml');
    await until('a live event', () => said.stdout.includes('"id":2'));
    child.kill('SIGINT');
    const { code, stdout } = await outcome;
    assert.equal(code, 130, 'Ctrl-C ends it');
    assert.deepEqual(idsOf(stdout), [1, 2]);
  });

  it('accepts --limit or --after-id, not both', async () => {
    const { code, stderr } = await run(['events', '--limit', '3', '--after-id', '2']);
    assert.equal(code, 2);
    assert.match(stderr, /does not go with --after-id/);
  });
});
