import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SlurmEngine } from '../../actors/fleet/slurm-engine.ts';
import { type Fleet, readFleet, type Template } from '../../machines/fleet/file.ts';
import { temporaryDirectory } from '../support/server.ts';

/** An engine for programs that are called like those of Slurm. */
async function engineWith(t: TestContext, programs: Record<string, string>) {
  const folder = await temporaryDirectory(t);
  for (const [name, script] of Object.entries({ scancel: 'exit 0', ...programs })) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  const path = process.env.PATH;
  process.env.PATH = `${folder}:${path}`;
  t.after(() => {
    process.env.PATH = path;
  });
  const template = { name: 'cpu', engine: 'slurm', max: 2, memory_gb: 1, walltime: '10min' };
  const read = readFleet({ name: 'lab', state: folder, templates: [template] });
  assert.ok('fleet' in read, JSON.stringify(read));
  const fleet = read.fleet as Fleet;
  const engine = new SlurmEngine({ fleet, command: ['jq-worker'], flags: [] });
  return {
    ask: () => engine.ask(fleet.templates[0] as Template, { places: [1, 2], permanent: 0 }),
    look: () => engine.look(fleet.templates),
  };
}

const ROW = '7|1|PENDING|N/A|Resources|jq.lab.cpu.';

describe('a Slurm that says odd things', () => {
  it('is read where sbatch says more than the number of a job, and squeue more than its lines', async (t) => {
    const { ask, look } = await engineWith(t, {
      sbatch: 'cat > /dev/null; echo "Welcome to the cluster"; echo "7;cluster"; echo "sbatch: lua: ok" >&2',
      squeue: `echo "squeue: motd: maintenance on | Monday |"; echo; echo '${ROW}'; echo '8|1|PENDING|N/A|None|of somebody'`,
    });
    await ask();
    const { allocations, failures } = await look();
    assert.deepEqual(
      allocations.map(({ id, place, state, reason }) => [id, place, state, reason]),
      [['7_1', 1, 'waiting', 'Resources']],
    );
    assert.deepEqual(failures, []);
  });

  it('that takes jobs and shows none of them is a failure, told once: it would be asked again and again', async (t) => {
    const { ask, look } = await engineWith(t, { sbatch: 'cat > /dev/null; echo 7', squeue: 'exit 0' });
    assert.deepEqual((await look()).failures, [], 'nothing was asked for');
    await ask();
    const [failure, ...others] = (await look()).failures;
    assert.equal(failure?.template, 'cpu');
    assert.match(failure?.why ?? '', /sbatch took 2 job\(s\) called jq\.lab\.cpu\., and squeue shows none/);
    assert.deepEqual(others, []);
    assert.deepEqual((await look()).failures, []);
  });

  it('that shows no more than that they have ended was seen to take them', async (t) => {
    const ended = ROW.replace('PENDING', 'COMPLETED');
    const { ask, look } = await engineWith(t, {
      sbatch: 'cat > /dev/null; echo 7',
      squeue: `echo '${ended}'`,
    });
    await ask();
    const { allocations, failures } = await look();
    assert.deepEqual([allocations, failures], [[], []]);
  });
});
