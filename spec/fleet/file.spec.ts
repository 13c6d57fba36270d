import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readFleetFile } from '../../bin/programs/fleet-file.ts';
import { readFleet } from '../../machines/fleet/file.ts';
import { ROOT } from '../support/program.ts';

const TEMPLATE = { name: 'cpu', engine: 'slurm', max: 9, walltime: '4h', memory_gb: 16 };
const file = (template: object, more: object = {}) => ({
  name: 'lab',
  templates: [{ ...TEMPLATE, ...template }],
  ...more,
});

/** What is wrong with a file, a line each. */
function faultsOf(document: unknown): string[] {
  const read = readFleet(document);
  return 'faults' in read ? read.faults.map(({ path, message }) => `${path} ${message}`) : [];
}

describe('a fleet file', () => {
  it('is as the examples have it', async () => {
    const { templates, state } = await readFleetFile(`${ROOT}examples/operations/fleet.yaml`);
    assert.deepEqual(
      templates.map(({ name, engine, gpus }) => [name, engine, gpus]),
      [
        ['cpu', 'slurm', 0],
        ['gpu', 'slurm', 1],
      ],
    );
    assert.equal(state, `${ROOT}examples/operations/fleet-state`, 'its directory lies beside it');
  });

  it('has defaults for all that is not said; of a walltime a part belongs to the end of the worker', () => {
    const read = readFleet(file({}));
    assert.ok('fleet' in read);
    const { interval, state, templates } = read.fleet;
    assert.deepEqual([interval, state], [5, './fleet-state']);
    const [cpu] = templates;
    assert.deepEqual(
      [cpu?.min, cpu?.slots, cpu?.gpus, cpu?.walltime, cpu?.ending, cpu?.idle],
      [0, 1, 0, 14_400, 120, 120],
    );
    const short = readFleet(file({ walltime: '10min' }));
    assert.equal('fleet' in short && short.fleet.templates[0]?.ending, 60);
  });

  it('is refused with everything that is wrong with it, and where', () => {
    assert.deepEqual(faultsOf(file({ memroy_gb: 3 })), [
      "/templates/0/memroy_gb is unknown, did you mean 'memory_gb'?",
    ]);
    assert.deepEqual(faultsOf(file({ min: 10 })), ['/templates/0/min is above max, 9']);
    assert.deepEqual(faultsOf(file({ walltime: '4 hours' })), [
      "/templates/0/walltime '4 hours' is no length of time, such as 30s, 5min or 4h",
    ]);
    assert.deepEqual(faultsOf(file({ ending: '4h' })), [
      '/templates/0/ending leaves nothing of the walltime, 4h',
    ]);
    assert.deepEqual(faultsOf(file({ walltime: undefined, memory_gb: undefined })), [
      '/templates/0/walltime is required with engine slurm',
      '/templates/0/memory_gb is required with engine slurm',
    ]);
    assert.deepEqual(faultsOf(file({ engine: 'local', slurm: { partition: 'main' } })), [
      '/templates/0/slurm is for templates of engine slurm',
    ]);
    assert.deepEqual(faultsOf(file({ slurm: { partion: 'main' } })), [
      "/templates/0/slurm/partion is unknown, did you mean 'partition'?",
    ]);
    assert.deepEqual(faultsOf({ name: 'lab', templates: [TEMPLATE, TEMPLATE] }), [
      "/templates/1/name 'cpu' is given twice",
    ]);
    assert.match(faultsOf(file({ engine: 'pbs' })).join(), /engine must be one of: local, slurm/);
    assert.match(
      faultsOf({ name: 'a lab', templates: [] }).join('\n'),
      /\/name must match[\s\S]*\/templates must/,
    );
  });
});
