import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  asked as askedBy,
  clusterVersion,
  Declared,
  signatureOf,
  termsAsked,
  termsDeclared,
  unmet,
  type WorkerProfile,
} from '../../machines/matching/matching.ts';
import {
  constraintOf,
  isConstraint,
  meetsConstraint,
  pointOf,
  rangeOf,
  versionOf,
} from '../../machines/matching/pep440.ts';
import { comparePoints, EVERYWHERE, type Point, type Range } from '../../machines/matching/ranges.ts';
import type { Requirements } from '../../machines/schema/job.ts';
import type { WorkerVersion } from '../../machines/schema/worker.ts';

const worker = (changes: Partial<WorkerProfile> = {}): WorkerProfile => ({
  labels: {},
  capabilities: {},
  version: {},
  ...changes,
});
const packages = (declared: Record<string, string>) => worker({ version: { packages: declared } });
/** Whether a worker that declared this version of numpy meets the constraint. */
const meets = (version: string, constraint: string) =>
  unmet({ packages: { numpy: constraint } }, packages({ numpy: version })).length === 0;

describe('a worker is eligible', () => {
  it('for a task that requires nothing', () => {
    assert.deepEqual(unmet({}, worker()), []);
    assert.deepEqual(unmet({ labels: {}, packages: {} }, worker()), []);
  });

  it('when every required label is equal', () => {
    const labels = { site: 'lab-b', rack: '7' };
    assert.deepEqual(unmet({ labels: { site: 'lab-b' } }, worker({ labels })), []);
    assert.deepEqual(unmet({ labels }, worker({ labels })), []);
    assert.deepEqual(unmet({ labels }, worker({ labels: { site: 'lab-a' } })), [
      'labels.site=lab-b',
      'labels.rack=7',
    ]);
    assert.deepEqual(unmet({ labels: { site: 'LAB-B' } }, worker({ labels })), ['labels.site=LAB-B']);
    assert.deepEqual(unmet({ labels: { site: '' } }, worker()), ['labels.site=']);
    assert.deepEqual(unmet({ labels: { constructor: 'x' } }, worker()), ['labels.constructor=x']);
  });

  it('when it has the memory, or does not say how much it has', () => {
    const memory = (memory_gb: unknown) =>
      unmet({ min_memory_gb: 16 }, worker({ capabilities: { memory_gb } }));
    assert.deepEqual(memory(16), []);
    assert.deepEqual(memory(15.9), ['min_memory_gb=16']);
    assert.deepEqual(memory(0), ['min_memory_gb=16']);
    assert.deepEqual(memory(undefined), []);
    assert.deepEqual(memory('much'), []);
    assert.deepEqual(unmet({}, worker({ capabilities: { memory_gb: 0 } })), []);
  });

  it('when it has the GPUs: a worker that does not say has none', () => {
    const gpus = (wanted: number | undefined, gpu_count: unknown) =>
      unmet(wanted === undefined ? {} : { min_gpu_count: wanted }, worker({ capabilities: { gpu_count } }));
    assert.deepEqual(gpus(2, 2), []);
    assert.deepEqual(gpus(2, 1), ['min_gpu_count=2']);
    assert.deepEqual(gpus(1, undefined), ['min_gpu_count=1']);
    assert.deepEqual(gpus(1, '4'), ['min_gpu_count=1']);
    assert.deepEqual(gpus(0, undefined), []);
    assert.deepEqual(gpus(undefined, undefined), []);
  });

  it('when it declares every package in a version that is asked for', () => {
    const declared = packages({ numpy: '2.1.0', mljs: '0.9' });
    assert.deepEqual(unmet({ packages: { numpy: '>=2,<3', mljs: '' } }, declared), []);
    assert.deepEqual(unmet({ packages: { numpy: '>=3', scipy: '>=1', torch: '' } }, declared), [
      'packages.numpy>=3',
      'packages.scipy>=1',
      'packages.torch',
    ]);
    assert.deepEqual(unmet({ packages: { numpy: '>=2' } }, worker()), ['packages.numpy>=2']);
    assert.deepEqual(unmet({ packages: { constructor: '' } }, packages({})), ['packages.constructor']);
  });

  it('unless it declares a required capability as false: a worker that does not say may have it', () => {
    const asked: Requirements = { capabilities: { python_entrypoint: true, other: false } };
    const missing = (capabilities: Record<string, unknown>) => unmet(asked, worker({ capabilities }));
    assert.deepEqual(missing({ python_entrypoint: false }), ['capabilities.python_entrypoint']);
    for (const declared of [{}, { python_entrypoint: true }, { python_entrypoint: null }, { other: false }])
      assert.deepEqual(missing(declared), [], JSON.stringify(declared));
  });

  it('or else every requirement that it does not meet is listed', () => {
    const asked: Requirements = {
      labels: { a: '1' },
      min_memory_gb: 8,
      min_gpu_count: 1,
      packages: { x: '>=1' },
    };
    assert.deepEqual(unmet(asked, worker({ capabilities: { memory_gb: 4 } })), [
      'packages.x>=1',
      'labels.a=1',
      'min_memory_gb=8',
      'min_gpu_count=1',
    ]);
  });
});

describe('the name of a package', () => {
  const found = (asked: string, declared: string) =>
    unmet({ packages: { [asked]: '' } }, packages({ [declared]: '1' })).length === 0;

  it('is the same in any case and with any of - _ . between its words', () => {
    assert.equal(found('scikit-learn', 'scikit_learn'), true);
    assert.equal(found('Scikit.Learn', 'scikit-learn'), true);
    assert.equal(found('nirs__lib', 'NIRS-lib'), true);
    assert.equal(found('scikitlearn', 'scikit-learn'), false);
  });

  it('is first looked for as it is written', () => {
    const declared = packages({ 'a-b': '1', a_b: '2' });
    assert.deepEqual(unmet({ packages: { a_b: '==2' } }, declared), []);
    assert.deepEqual(unmet({ packages: { 'a-b': '==1' } }, declared), []);
  });

  it('may be python: then it is the version of the interpreter', () => {
    const python = (version: WorkerVersion, asked = '>=3.10,<3.13') =>
      unmet({ packages: { python: asked } }, worker({ version }));
    assert.deepEqual(python({ python: '3.11.7' }), []);
    assert.deepEqual(python({ python: '3.9.1' }), ['packages.python>=3.10,<3.13']);
    assert.deepEqual(python({ node: '20.1.0' }), ['packages.python>=3.10,<3.13']);
    assert.deepEqual(python({ python: '3.11.7 (main, Dec  8 2023) [GCC 11]' }), []);
    assert.deepEqual(python({ python: '3.12.0+' }), [], 'built from a branch');
    assert.deepEqual(
      python({ python: '3.9', packages: { Python: '3.12' } }),
      [],
      'a declared package says more',
    );
    assert.deepEqual(unmet({ packages: { Python: '' } }, worker({ version: { python: '3' } })), []);
    assert.deepEqual(unmet({ packages: { node: '' } }, worker({ version: { node: '20.1.0' } })), [
      'packages.node',
    ]);
  });
});

describe('a version', () => {
  it('only has to be there when the constraint is empty, whatever it looks like', () => {
    for (const version of ['1.0', '2.0rc1', 'unknown', 'git:abc123', '']) {
      assert.ok(meets(version, ''), version);
      assert.ok(meets(version, ' '), version);
    }
  });

  it('may be a pre-release, which counts by its order, since it is what is installed', () => {
    assert.equal(meets('2.0rc1', '>=1.0'), true);
    assert.equal(meets('2.0rc1', '<2.0rc2'), true);
    assert.equal(meets('2.0rc1', '>=2.0'), false);
    assert.equal(meets('2.0rc1', '<2.0'), false);
    assert.equal(meets('2.0.dev1', '~=1.4'), false);
  });

  it('may be a post-release, which is not greater than the release that it corrects', () => {
    assert.equal(meets('1.2.post1', '>=1.2'), true);
    assert.equal(meets('1.2.post1', '>1.2'), false);
    assert.equal(meets('1.2.post2', '>1.2.post1'), true);
    assert.equal(meets('1.2.post1', '==1.2'), false);
    assert.equal(meets('1.2.post1', '==1.2.*'), true);
  });

  it('may be a local one, which counts as the version it was built from, unless a constraint names another', () => {
    assert.equal(meets('2.1.0+cu118', '==2.1.0'), true);
    assert.equal(meets('2.1.0+cu118', '>=2.1,<=2.1.0'), true);
    assert.equal(meets('2.1.0+cu118', '>2.1.0'), false);
    assert.equal(meets('2.1.0+cu118', '==2.1.0+cu118'), true);
    assert.equal(meets('2.1.0+cu118', '==2.1.0+cu121'), false);
    assert.equal(meets('2.1.0+cu118', '!=2.1.0+cu121'), true);
    assert.equal(meets('2.1.0', '==2.1.0+cu118'), false);
  });

  it('that is not PEP 440 meets only what names it', () => {
    for (const constraint of ['>=0', '!=1.0', '==1.*', '<99'])
      assert.ok(!meets('unknown', constraint), constraint);
    assert.equal(meets('unknown', '===unknown'), true);
    assert.equal(meets('', '>=0'), false);
  });

  const file = new URL('./pep440-vectors.json', import.meta.url);
  const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
    versions: string[];
    admitted: Record<string, number[] | null>;
  };
  const constraints = Object.entries(vectors.admitted);
  it(`is judged as Python's own library does, in ${vectors.versions.length} × ${constraints.length} cases`, () => {
    assert.ok(vectors.versions.length > 50 && constraints.length > 100, 'the vectors are there');
    for (const [constraint, admitted] of constraints) {
      assert.equal(isConstraint(constraint), admitted !== null, constraint);
      const read = constraintOf(constraint);
      const met = vectors.versions.flatMap((version, i) =>
        meetsConstraint(versionOf(version), read) ? [i] : [],
      );
      const words = (numbers: number[]) => numbers.map((i) => vectors.versions[i]);
      assert.deepEqual(words(met), words(admitted ?? []), constraint);
    }
  });

  it('admits no version outside of the range that it gives, alone and beside another', () => {
    const lies = (version: string, { from, to }: Range) => {
      const point = pointOf(versionOf(version));
      if (point === null) return from === null && to === null;
      return (
        (from === null || comparePoints(from, point) <= 0) && (to === null || comparePoints(point, to) <= 0)
      );
    };
    const [first = ''] = Object.keys(vectors.admitted).filter((text) => text.startsWith('>='));
    for (const text of constraints.flatMap(([constraint]) => [constraint, `${first},${constraint}`])) {
      const read = constraintOf(text);
      const met = vectors.versions.filter((version) => meetsConstraint(versionOf(version), read));
      for (const version of met) assert.ok(lies(version, rangeOf(read)), `${version} meets ${text}`);
    }
  });

  it('gives a range that is about as narrow as the constraint', () => {
    const range = (text: string) => rangeOf(constraintOf(text));
    const has = ({ from, to }: Range, version: string) => {
      const point = pointOf(versionOf(version)) as Point;
      return comparePoints(from as Point, point) <= 0 && comparePoints(point, to as Point) <= 0;
    };
    for (const text of ['==1.4.*', '~=1.4.2', '>=1.4,<1.5', '==1.4.7', '==1.4.7+cu118'])
      assert.deepEqual(
        ['1.3.9', '1.4.7', '1.5.1', '2'].filter((version) => has(range(text), version)),
        ['1.4.7'],
        text,
      );
    for (const text of ['', '!=1.4', '===1.4']) assert.deepEqual(range(text), EVERYWHERE, text);
  });
});

describe('the signature of requirements', () => {
  it('is the same for what means the same', () => {
    const one: Requirements = { labels: { a: '1', b: '2' }, packages: { x: '', y: '>=1' }, min_gpu_count: 0 };
    const other: Requirements = {
      packages: { y: '>=1', x: '' },
      min_memory_gb: 0,
      labels: { b: '2', a: '1' },
    };
    assert.equal(signatureOf(one), signatureOf(other));
    assert.equal(signatureOf({}), signatureOf({ labels: {}, packages: {}, capabilities: { x: false } }));
  });

  it('differs for whatever makes a difference', () => {
    const all: Requirements[] = [
      {},
      { labels: { a: '1' } },
      { labels: { a: '2' } },
      { labels: { b: '1' } },
      { packages: { a: '1' } },
      { min_memory_gb: 1 },
      { min_gpu_count: 1 },
      { capabilities: { a: true } },
      { capabilities: { b: true } },
      { labels: { a: '1', b: '1' } },
      { labels: { 'a,b': '1' } },
    ];
    assert.equal(new Set(all.map(signatureOf)).size, all.length);
  });
});

describe('the version of the worker program', () => {
  it('is `cluster`, else what first ends in `_cluster`, else unknown', () => {
    const program = (version: Record<string, unknown>) => clusterVersion(version as WorkerVersion);
    assert.equal(program({ cluster: '1.2.3', lib_cluster: '9' }), '1.2.3');
    assert.equal(program({ python: '3', lib_cluster: '9', other_cluster: '8' }), '9');
    assert.equal(program({ a_cluster: 5, b_cluster: '8' }), '8');
    assert.equal(program({ cluster_x: '9', python: '3' }), null);
    assert.equal(program({}), null);
  });
});

describe('whether a worker meets all requirements', () => {
  const asked = (label: number, constraint: string) => ({
    labels: { site: `lab-${label}` },
    packages: { demo: constraint },
  });

  it('agrees with the list of unmet requirements', () => {
    const worker = {
      labels: { site: 'lab-1' },
      capabilities: { memory_gb: 8 },
      version: { packages: { demo: '1.2' } },
    };
    const all: Requirements[] = [
      {},
      asked(1, '>=1'),
      asked(2, '>=1'),
      asked(1, '>=2'),
      { min_memory_gb: 9 },
      { min_memory_gb: 8 },
      { min_gpu_count: 1 },
      { packages: { other: '' } },
      { packages: { DEMO: '' } },
    ];
    for (const requirements of all) {
      const read = askedBy(requirements);
      const meets = new Declared(worker).meets(read);
      assert.equal(meets, unmet(requirements, worker).length === 0, JSON.stringify(requirements));
      const has = new Set(termsDeclared(worker));
      if (meets)
        assert.ok(
          termsAsked(read).every((term) => has.has(term)),
          'whoever meets it has all its terms',
        );
    }
  });

  it('is decided by the labels where they differ: of thousands of requirements no version is looked at', () => {
    let looks = 0;
    const worker = {
      labels: { site: 'elsewhere' },
      capabilities: {},
      get version() {
        looks++;
        return { packages: { demo: '1.2' } };
      },
    };
    const declared = new Declared(worker);
    for (let i = 0; i < 5000; i++) assert.equal(declared.meets(askedBy(asked(i, `>=1.${i}`))), false);
    assert.equal(looks, 0);
  });
});
