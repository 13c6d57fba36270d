// `npm run slurm`: what takes minutes with real Slurm, and is bounded by them.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SlurmEngine } from '../../actors/fleet/slurm-engine.ts';
import { WORKER } from '../../bin/programs/fleet.ts';
import { requires } from '../support/requires.ts';
import { SlurmCluster } from './slurm-cluster.ts';
import { slurmScene } from './slurm-scene.ts';

/** Tasks of the sweep that is measured. */
const MANY = 200;
/** Milliseconds between two looks of the fleet that is measured. */
const INTERVAL = 5_000;

const secondsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
};

describe('a fleet in Slurm, for minutes', requires('slurm'), () => {
  let slurm: SlurmCluster;
  before(async () => {
    slurm = await SlurmCluster.start();
  });
  afterEach(() => slurm.clear());
  after(() => slurm.stop());

  it('goes on with a task whose allocation came to the end of its walltime, which costs no attempt', async (t) => {
    const { server, name, letGo, rounds, runs, submit, succeed } = await slurmScene(
      t,
      {},
      { max: 1, walltime: '1min', ending: '20s' },
    );
    const { id } = await submit(1);
    await runs(1);
    await rounds('another allocation', async () => (await slurm.asked(name)) > 1, 240);
    const [first = ''] = await slurm.ended(name);
    assert.match(first, /COMPLETED|TIMEOUT/);
    await letGo();
    await succeed(1);
    const [task] = await server.client.call('listJobTasks', { params: { id } });
    assert.deepEqual([task?.status, task?.error], ['succeeded', null]);
  });

  it(`runs sweeps of ${MANY} tasks from an empty partition about as fast as workers that are submitted by hand`, async (t) => {
    for (let pair = 0; pair < 2; pair++) {
      const hand = await slurmScene(t);
      await hand.letGo();
      const byHand = await secondsOf(async () => {
        await hand.submit(MANY);
        const start = { fleet: hand.fleet, command: WORKER, flags: ['--server', hand.server.url] };
        const [template] = hand.fleet.templates;
        assert.ok(template);
        await new SlurmEngine(start).ask(template, { places: [1, 2], permanent: 0 });
        while (!(await hand.have(MANY))) await delay(50);
      });
      await slurm.clear();
      const scene = await slurmScene(t);
      await scene.letGo();
      let first = 0;
      const byFleet = await secondsOf(async () => {
        await scene.submit(MANY);
        first = await secondsOf(() => scene.round());
        for (let next = performance.now() + INTERVAL; !(await scene.have(MANY)); await delay(50)) {
          if (performance.now() < next) continue;
          next = performance.now() + INTERVAL;
          await scene.round();
        }
      });
      t.diagnostic(
        `by hand ${byHand.toFixed(1)} s; by a fleet ${byFleet.toFixed(1)} s, of which its first look and sbatch ${first.toFixed(2)} s`,
      );
      assert.equal(await slurm.asked(scene.name), 2);
      await slurm.clear();
    }
  });
});
