import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { SlurmCluster } from './slurm-cluster.ts';
import { slurmScene } from './slurm-scene.ts';

describe('a fleet in Slurm', requires('slurm'), () => {
  let slurm: SlurmCluster;
  before(async () => {
    slurm = await SlurmCluster.start();
  });
  afterEach(() => slurm.clear());
  after(() => slurm.stop());
  /** None of a specification's own may be left for the next. */
  const isEmpty = async () => (await slurm.jobs()).length === 0;

  it('runs a sweep from nothing to nothing', async (t) => {
    const { server, name, letGo, rounds, runs, submit, succeed } = await slurmScene(t);
    await submit(4);
    await runs(2);
    const ends = (await server.client.call('listWorkers')).map(({ capabilities }) => capabilities.ends_at);
    const soon = Date.now() / 1000 + 600;
    assert.ok(
      ends.every((at) => Number(at) > soon - 120 && Number(at) < soon),
      `they know their ends: ${ends}`,
    );
    await letGo();
    await succeed(4);
    await rounds('nothing to be left', isEmpty);
    assert.equal(await slurm.asked(name), 2);
    assert.equal((await server.client.call('getStats')).workers_alive, 0);
  });

  it('waits where a partition is full, and says so; started anew, it asks for nothing twice', async (t) => {
    const blocker = await slurm.block(2);
    const { name, letGo, plan, restart, rounds, submit, succeed } = await slurmScene(t);
    await submit(2);
    await rounds('its jobs to wait', async () => / \(Resources/.test((await plan())?.why ?? ''));
    assert.equal((await plan())?.waiting, 2);
    await restart();
    await rounds('a few rounds', async () => true);
    assert.equal(await slurm.asked(name), 2);
    assert.match((await plan())?.why ?? '', /^what is there will serve what waits \((Resources|Priority)/);
    await slurm.command('scancel', blocker);
    await letGo();
    await succeed(2);
    await rounds('nothing to be left', isEmpty);
    assert.equal(await slurm.asked(name), 2);
  });

  it('says that an account is wrong, in the words of Slurm, and pauses', async (t) => {
    const { name, plan, rounds, submit } = await slurmScene(t, { account: 'nobodys' });
    await submit(1);
    await rounds('the refusal', async () => /pauses/.test((await plan())?.why ?? ''));
    assert.match((await plan())?.why ?? '', /sbatch: Batch job submission failed: Invalid account/);
    assert.equal(await slurm.asked(name), 0);
  });

  it('takes no attempt from the tasks of an allocation that is cancelled, and asks for another', async (t) => {
    const { server, name, letGo, rounds, runs, submit, succeed } = await slurmScene(t, {}, { max: 1 });
    const { id } = await submit(1);
    await runs(1);
    const [running = ''] = await slurm.jobs();
    await slurm.command('scancel', running.split(' ')[0] as string);
    await rounds('another allocation', async () => (await slurm.asked(name)) === 2);
    await letGo();
    await succeed(1);
    const [task] = await server.client.call('listJobTasks', { params: { id } });
    assert.deepEqual([task?.status, task?.error], ['succeeded', null]);
    await rounds('nothing to be left', isEmpty);
  });

  it('gives tasks back that are preempted, and goes on when there is room again', async (t) => {
    const { server, letGo, rounds, runs, submit, succeed } = await slurmScene(
      t,
      { partition: 'low' },
      { max: 1 },
    );
    const { id } = await submit(1);
    await runs(1);
    const blocker = await slurm.block(2, '--partition=high');
    await rounds('the task to be given back', async () => {
      const events = await server.client.call('listJobEvents', { params: { id } });
      return events.some(({ type, data }) => type === 'task_requeued' && data.reason === 'preempted');
    });
    await slurm.command('scancel', blocker);
    await letGo();
    await succeed(1);
    await rounds('nothing to be left', isEmpty);
  });

  it('leaves nothing behind at its end: what has not started is given up, what runs is finished', async (t) => {
    const { server, end, letGo, plan, rounds, runs, submit, have } = await slurmScene(t, {}, { max: 3 });
    const { id } = await submit(3);
    await runs(2);
    await rounds('the third to wait', async () => (await plan())?.waiting === 1);
    assert.equal(await end(), 3);
    await until('its workers to be told', async () => {
      const workers = await server.client.call('listWorkers');
      return workers.every(({ leaving }) => leaving === 'draining');
    });
    await letGo();
    await until('nothing to be left', async () => (await end()) === 0, 60);
    assert.equal(await have(2), true);
    const events = await server.client.call('listJobEvents', { params: { id } });
    assert.deepEqual(
      events.filter(({ type }) => type === 'task_requeued'),
      [],
    );
  });

  it('asks for another where a node dies with its worker, whose task is run again', async (t) => {
    const { server, state, name, letGo, rounds, runs, submit, succeed } = await slurmScene(t, {}, { max: 1 });
    const { id } = await submit(1, 2);
    await runs(1);
    await slurm.loseNode(state);
    await rounds('another allocation', async () => (await slurm.asked(name)) === 2);
    await letGo();
    await succeed(1);
    const [task] = await server.client.call('listJobTasks', { params: { id } });
    assert.equal(task?.status, 'succeeded');
    await rounds('nothing to be left', isEmpty);
  });
});
