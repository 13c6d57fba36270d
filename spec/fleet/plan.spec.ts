import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Facts, planOf } from '../../machines/fleet/plan.ts';
import { allocation, facts, wanted, worker } from './support.ts';

const NOW = 1000;

function plan(given: Partial<Omit<Facts, 'demand'>> & { groups?: Facts['demand']['groups'] }) {
  const { groups = [], ...rest } = given;
  return planOf({
    ...{ now: NOW, templates: [facts()], allocations: [], workers: [], demand: { groups } },
    unheard: new Set(),
    ...rest,
  });
}

/** For which places each template asks. */
const asks = (given: Parameters<typeof plan>[0]) =>
  Object.fromEntries(plan(given).templates.map(({ name, ask }) => [name, ask]));

describe('what a fleet asks for', () => {
  it('is as many allocations as have slots for what waits, and no more than the template may have', () => {
    assert.deepEqual(asks({ groups: [wanted(2)] }), { cpu: [1, 2] });
    assert.deepEqual(asks({ groups: [wanted(9)] }), { cpu: [1, 2, 3] });
    assert.deepEqual(asks({ groups: [wanted(9)], templates: [facts({ slots: 5 })] }), { cpu: [1, 2] });
    assert.deepEqual(asks({ groups: [wanted(1), wanted(1)], templates: [facts({ slots: 2 })] }), {
      cpu: [1],
    });
    assert.deepEqual(asks({}), { cpu: [] });
    assert.match(plan({ groups: [wanted(9)] }).templates[0]?.why ?? '', /no more than 3 allocations/);
  });

  it('leaves out what is there and comes, whoever asked for it: nothing is asked for twice', () => {
    const allocations = [allocation(1, { state: 'waiting' }), allocation(2)];
    assert.deepEqual(asks({ groups: [wanted(2)], allocations }), { cpu: [] });
    assert.deepEqual(asks({ groups: [wanted(3)], allocations }), { cpu: [3] });
    const workers = [worker(2, 1)];
    assert.deepEqual(asks({ groups: [wanted(2)], allocations, workers }), { cpu: [3] }, 'the worker is full');
    assert.deepEqual(
      asks({ groups: [wanted(2)], allocations, workers: [worker(2, 0, { takes: false })] }),
      { cpu: [3] },
      'one that ends takes nothing more',
    );
    assert.deepEqual(
      asks({ groups: [wanted(1)], workers: [worker(1, 1)] }),
      { cpu: [2] },
      'its place is taken',
    );
    const unheard = new Set([allocation(2).id]);
    assert.deepEqual(
      asks({ groups: [wanted(2)], allocations, unheard }),
      { cpu: [3] },
      'one whose worker is not heard of serves nothing, and has its place',
    );
    const templates = [facts({}, 'trying')];
    const given = { groups: [wanted(2)], templates, allocations: [allocation(2)] };
    assert.deepEqual(
      [asks(given), asks({ ...given, unheard })],
      [{ cpu: [] }, { cpu: [1] }],
      'nor is it a try',
    );
  });

  it('comes of the first template in the file that could run it, then of the next', () => {
    const templates = [facts({ max: 1 }), facts({ name: 'more', max: 9 })];
    assert.deepEqual(asks({ groups: [wanted(3)], templates }), { cpu: [1], more: [1, 2] });
  });

  it('is never what could not run it: wrong labels, packages, memory or GPUs, or too short for its time', () => {
    const cases: [Parameters<typeof wanted>[1], Record<string, unknown>, RegExp][] = [
      [{ requirements: { packages: { nirs4all: '' } } }, {}, /does not have packages\.nirs4all/],
      [
        { requirements: { packages: { nirs4all: '>=2' } } },
        { packages: { nirs4all: '1.4.10' } },
        /packages\.nirs4all>=2/,
      ],
      [{ requirements: { labels: { site: 'b' } } }, { labels: { site: 'a' } }, /labels\.site=b/],
      [{ requirements: { min_memory_gb: 64 } }, { memory_gb: 16 }, /min_memory_gb=64/],
      [{ requirements: { min_gpu_count: 1 } }, {}, /min_gpu_count=1/],
      [{}, { gpus: 1 }, /has GPUs, which are kept/],
      [{ requirements: { capabilities: { python_entrypoint: true } } }, {}, /python_entrypoint/],
      [{ seconds: 3500 }, { walltime: '1h', ending: '2min' }, /of its walltime 3480 s .* may take 3500 s/],
    ];
    for (const [asked, has, why] of cases) {
      const { templates, unserved } = plan({ groups: [wanted(5, asked)], templates: [facts(has)] });
      assert.deepEqual(templates[0]?.ask, [], String(why));
      assert.match(unserved[0]?.why[0]?.reasons.join() ?? '', why);
      assert.equal(unserved[0]?.slots_wanted, 5);
    }
    const could: [Parameters<typeof wanted>[1], Record<string, unknown>][] = [
      [{ requirements: { packages: { nirs4all: '>=1.4' } } }, { packages: { nirs4all: '1.4.10' } }],
      [
        { requirements: { labels: { 'dataset.corn': 'true' } } },
        { worker: ['--dataset', 'corn=/data/corn'] },
      ],
      [{ requirements: { labels: { 'predict.mljs': 'true' } } }, {}],
      [{ requirements: { min_gpu_count: 2 } }, { gpus: 2 }],
      [{ requirements: { capabilities: { python_entrypoint: true } } }, { worker: ['--allow-python'] }],
      [{ seconds: 3480 }, { walltime: '1h', ending: '2min' }],
      [{ seconds: 1e9 }, {}],
    ];
    for (const [asked, has] of could)
      assert.deepEqual(asks({ groups: [wanted(1, asked)], templates: [facts(has)] }), { cpu: [1] });
  });

  it('counts no allocation as coming that ends before the task would', () => {
    const templates = [facts({ walltime: '1h', ending: '2min' })];
    const groups = [wanted(1, { seconds: 600 })];
    const ending = (after: number) => [allocation(1, { ends_at: NOW + after })];
    assert.deepEqual(asks({ templates, groups, allocations: ending(700) }), { cpu: [2] });
    assert.deepEqual(asks({ templates, groups, allocations: ending(720) }), { cpu: [] });
  });

  it('goes by what its workers declare, once they are there', () => {
    const templates = [facts({ packages: { nirs4all: '2.0' } })];
    const groups = [wanted(2, { requirements: { packages: { nirs4all: '' } } })];
    const given = { templates, groups, allocations: [allocation(1)] };
    assert.deepEqual(asks(given), { cpu: [2] });
    const { unserved } = plan({ ...given, workers: [worker(1, 0)] });
    assert.deepEqual(unserved[0]?.why[0]?.reasons, ['does not have packages.nirs4all']);
  });

  it('is nothing while a template pauses, and then one until a worker works; it says why', () => {
    const reason = 'sbatch: Invalid account';
    const paused = facts({}, 'paused', { failures: 1, reason, resumes_at: NOW + 20 });
    const [decided] = plan({ groups: [wanted(5)], templates: [paused] }).templates;
    assert.deepEqual(decided?.ask, []);
    assert.equal(decided?.why, 'it pauses for another 20 s: sbatch: Invalid account');
    const trying = facts({}, 'trying', { failures: 1, reason });
    assert.deepEqual(asks({ groups: [wanted(5)], templates: [trying] }), { cpu: [1] });
    const allocations = [allocation(2, { state: 'waiting' })];
    assert.deepEqual(asks({ groups: [wanted(5)], templates: [trying], allocations }), { cpu: [] });
    const [, other] = plan({ groups: [wanted(2)], templates: [paused, facts({ name: 'other' })] }).templates;
    assert.deepEqual(other?.ask, [1, 2], 'others step in');
  });

  it('holds as many as a template is to have at least, which stay without work', () => {
    const templates = [facts({ min: 2 })];
    const [first] = plan({ templates }).templates;
    assert.deepEqual([first?.ask, first?.permanent], [[1, 2], 2]);
    const [more] = plan({ templates, groups: [wanted(3)] }).templates;
    assert.deepEqual([more?.ask, more?.permanent], [[1, 2, 3], 2]);
    assert.deepEqual(asks({ templates, allocations: [allocation(1), allocation(7)] }), { cpu: [] });
  });
});

describe('what a fleet gives up', () => {
  const waiting = (place: number) => allocation(place, { state: 'waiting' });
  const given = { allocations: [waiting(1), waiting(2), allocation(3)] };
  const since = (surplus_since: number | null, differs = {}) => [facts(differs, 'ready', { surplus_since })];
  const withdrawn = (more: Parameters<typeof plan>[0]) =>
    plan({ ...given, ...more }).templates[0]?.withdraw.map(({ place }) => place);

  it('has not started, and has not been needed for as long as a worker may be idle', () => {
    const [decided] = plan({ ...given, templates: since(null) }).templates;
    assert.deepEqual([decided?.surplus, decided?.withdraw], [true, []]);
    assert.deepEqual(withdrawn({ templates: since(NOW - 59) }), []);
    assert.deepEqual(withdrawn({ templates: since(NOW - 60) }), [1, 2]);
  });

  it('is not what will serve what waits, nor what a template is to have at least', () => {
    assert.deepEqual(withdrawn({ templates: since(NOW - 60), groups: [wanted(1)] }), [2]);
    assert.deepEqual(withdrawn({ templates: since(NOW - 60, { min: 2 }) }), [2]);
    const busy = [worker(3, 1)];
    assert.deepEqual(withdrawn({ templates: since(NOW - 60), workers: busy, groups: [wanted(2)] }), []);
  });
});
