import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { FleetKeeper } from '../../actors/fleet/fleet.ts';
import { type Fleet, readFleet } from '../../machines/fleet/file.ts';
import { pipelines } from '../support/job.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { PlayedEngine } from './played-engine.ts';

/** A server, a fleet that is kept for it, and machines that come and go as the test says. */
async function scene(t: TestContext, template: Record<string, unknown> = {}) {
  const server = await startTestServer(t);
  const state = await temporaryDirectory(t);
  await mkdir(state, { recursive: true });
  const read = readFleet({
    name: 'lab',
    state,
    templates: [{ name: 'cpu', engine: 'local', max: 4, idle: '1min', ...template }],
  });
  assert.ok('fleet' in read, JSON.stringify(read));
  const engine = new PlayedEngine();
  const clock = { now: () => clock.time, time: 1000 };
  const log: string[] = [];
  const open = () =>
    FleetKeeper.open({
      ...{ fleet: read.fleet as Fleet, client: server.client, engines: { local: engine, slurm: engine } },
      ...{ brought: { packages: { mljs: '0.1.0' } }, clock },
      log: pino({ level: 'info' }, { write: (line) => void log.push(JSON.parse(line).msg) }),
    });
  const submit = (count: number, more: object = {}) =>
    server.client.call('submitJob', {
      body: {
        type: 'mljs.run',
        pipelines: pipelines(count),
        dataset: { kind: 'shared_path', path: '/d' },
        ...more,
      },
    });
  /** The worker of a place, which has been given its machine. */
  const comes = async (place: number) => {
    engine.starts(place);
    const { worker_id, session } = await server.client.call('registerWorker', {
      body: { name: `lab.cpu.${place}`, version: { packages: { mljs: '0.1.0' } } },
    });
    const params = { id: worker_id };
    return {
      worker_id,
      take: () => server.client.call('lease', { params, body: { max_tasks: 1, session } }),
      /** Its connection ends, and it says so. */
      leaves: () =>
        server.client.call('heartbeat', { params, body: { active: [], leaving: 'stopped', session } }),
    };
  };
  return { server, engine, clock, log, open, submit, comes };
}

const why = async (keeper: FleetKeeper) => (await keeper.look()).plan.templates[0]?.why ?? '';

describe('who keeps a fleet', () => {
  it('asks once for what waits, also after it was started anew: it sees what is there', async (t) => {
    const { engine, open, submit } = await scene(t);
    await submit(2);
    const first = await open();
    await first.round();
    await first.round();
    await (await open()).round();
    assert.deepEqual(engine.asked, [{ template: 'cpu', places: [1, 2] }]);
  });

  it('asks for nothing that waits for something else: paused, or after a failure', async (t) => {
    const { server, engine, open, submit, comes } = await scene(t);
    const keeper = await open();
    await submit(1, { retry: { max_attempts: 3, backoff_seconds: 600 } });
    await keeper.round();
    const worker = await comes(1);
    const { task } = await worker.take();
    await server.client.call('failTask', {
      params: { id: task?.task_id as string },
      query: { worker_id: worker.worker_id, attempt: task?.attempt as number },
      body: { error: 'it broke' },
    });
    await server.client.call('pauseQueue', { body: { owner: 'anonymous' } });
    await submit(3);
    await keeper.round();
    assert.equal(engine.asked.length, 1);
    await server.client.call('resumeQueue', { body: { owner: 'anonymous' } });
    await keeper.round();
    assert.deepEqual(engine.asked.slice(1), [{ template: 'cpu', places: [2, 3] }]);
  });

  it('asks anew after a worker has left for want of work: that says nothing of the next', async (t) => {
    const { engine, open, submit, comes } = await scene(t);
    const keeper = await open();
    for (const places of [[1], [1], [1]]) {
      await submit(1);
      await keeper.round();
      assert.deepEqual(engine.asked.at(-1)?.places, places);
      const worker = await comes(1);
      await keeper.round();
      assert.ok((await worker.take()).task);
      await keeper.round();
      await worker.leaves();
      engine.ends(engine.allocations[0]?.id as string);
      await keeper.round();
    }
    assert.equal(engine.asked.length, 3);
  });

  it('pauses when its workers come and are given nothing of what they should serve', async (t) => {
    const { engine, clock, open, submit, comes } = await scene(t, { max: 1 });
    const keeper = await open();
    await submit(1);
    for (const _ of [1, 2]) {
      await keeper.round();
      const worker = await comes(1);
      await keeper.round();
      await worker.leaves();
      engine.ends(engine.allocations[0]?.id as string);
    }
    await keeper.round();
    assert.equal(engine.asked.length, 2);
    assert.match(await why(keeper), /pauses for another 30 s: lab\.cpu\.1 came and was given nothing/);
    clock.time += 30;
    await keeper.round();
    assert.equal(engine.asked.length, 3, 'it tries again by itself');
  });

  it('pauses with the words of an engine that refuses, and tries with one allocation', async (t) => {
    const { engine, clock, log, open, submit } = await scene(t);
    const keeper = await open();
    await submit(3);
    engine.fault = { ask: 'sbatch: Invalid account or account/partition combination specified' };
    await keeper.round();
    assert.match(await why(keeper), /pauses for another 30 s: sbatch: Invalid account/);
    engine.fault = {};
    clock.time += 29;
    await keeper.round();
    assert.deepEqual(engine.asked, []);
    const next = await open();
    clock.time += 1;
    await next.round();
    assert.deepEqual(engine.asked, [{ template: 'cpu', places: [1] }]);
    assert.equal(log.filter((line) => line === 'an allocation failed').length, 1);
  });

  it('pauses when allocations end as none should, and says why', async (t) => {
    const { engine, open, submit } = await scene(t);
    const keeper = await open();
    await submit(3);
    await keeper.round();
    engine.failures = [
      { template: 'cpu', why: 'lab.cpu.1 ended with exit code 2: error: --python: no such file' },
      { template: 'cpu', why: 'lab.cpu.2 ended with exit code 2: error: --python: no such file' },
    ];
    for (const { id } of [...engine.allocations]) engine.ends(id);
    await keeper.round();
    assert.equal(engine.asked.length, 1);
    assert.match(await why(keeper), /for another 30 s: lab\.cpu\.2 ended with exit code 2: error: --python/);
  });

  it('pauses when a machine was given, and the server does not hear of its worker: it asks for another then, and counts on that one no more', async (t) => {
    const { engine, clock, log, open, submit, comes } = await scene(t);
    const keeper = await open();
    await submit(2);
    await keeper.round();
    engine.starts(1);
    const second = await comes(2);
    await second.take();
    await keeper.round();
    clock.time += 299;
    await keeper.round();
    assert.doesNotMatch(await why(keeper), /pauses/);
    clock.time += 1;
    await keeper.round();
    await keeper.round();
    assert.match(
      await why(keeper),
      /pauses .*: job-1 has run for long, and .* does not hear of lab\.cpu\.1: look at .*cpu\/1\.log/,
    );
    assert.equal(log.filter((line) => line === 'an allocation failed').length, 1, 'once');
    assert.deepEqual(engine.drained, [], 'nobody ends it');
    clock.time += 30;
    await keeper.round();
    await keeper.round();
    assert.deepEqual(engine.asked.at(-1), { template: 'cpu', places: [3] }, 'the other one works');
    await submit(1);
    await comes(1);
    await keeper.round();
    assert.equal(engine.asked.length, 2, 'it is counted on again once it is heard of');
  });

  it('decides nothing of what it cannot see: of an engine that is not there, or without the server', async (t) => {
    const { server, engine, open, submit } = await scene(t);
    const keeper = await open();
    await submit(3);
    engine.fault = { look: 'squeue: Unable to contact slurm controller' };
    const { plan, blind } = await keeper.round();
    assert.deepEqual([plan.templates, engine.asked], [[], []]);
    assert.deepEqual([...blind], [['local', 'squeue: Unable to contact slurm controller']]);
    engine.fault = {};
    await keeper.round();
    assert.equal(engine.asked.length, 1);
    await server.stop();
    await assert.rejects(keeper.round());
    assert.equal(engine.allocations.length, 3, 'nothing is given up');
  });

  it('gives up what has not started once nobody has needed it for a while, and never what runs', async (t) => {
    const { server, engine, clock, open, submit, comes } = await scene(t);
    const keeper = await open();
    const { id } = await submit(3);
    await keeper.round();
    await (await comes(2)).take();
    await server.client.call('cancelJob', { params: { id } });
    await keeper.round();
    clock.time += 59;
    await keeper.round();
    assert.equal(engine.allocations.length, 3);
    clock.time += 1;
    await keeper.round();
    assert.deepEqual(
      engine.allocations.map(({ place }) => place),
      [2],
    );
  });

  it('leaves nothing behind: at its end it gives up what waits, and tells workers that run to end, once', async (t) => {
    const { engine, open, submit, comes } = await scene(t);
    const keeper = await open();
    await submit(3);
    await keeper.round();
    await comes(2);
    const running = engine.allocations.find(({ place }) => place === 2)?.id as string;
    assert.equal(await keeper.end(), 3);
    assert.equal(await keeper.end(), 1);
    assert.deepEqual(engine.drained, [running]);
    engine.ends(running);
    assert.equal(await keeper.end(), 0);
  });
});
