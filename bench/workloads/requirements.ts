import { WorkerCell } from '../../actors/server/runtime/actor-cell.ts';
import { Exclusions, registrationOf } from '../../actors/server/scheduling/exclusions.ts';
import { Profiles } from '../../actors/server/scheduling/profiles.ts';
import { QueueIndex } from '../../actors/server/scheduling/queue-index.ts';
import { RequirementBook } from '../../actors/server/scheduling/requirements.ts';
import { FOR_GOOD } from '../../actors/server/turn/journal.ts';
import type { Requirements } from '../../machines/schema/job.ts';
import { workerRow } from '../../spec/support/rows.ts';
import { quantile } from '../load/quantiles.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';

/** Milliseconds that a lease that finds nothing may take. */
const LONGEST = 1;
const demo = { packages: { demo: '' } };

/**
 * In what the queued requirements differ, of which the worker meets none; of the last it meets each, and is avoided.
 */
const KINDS: Record<string, { what: string; make: (i: number) => Requirements }> = {
  labels: { what: 'labels', make: (i) => ({ ...demo, labels: { site: `lab-${i}` } }) },
  packages: { what: 'packages', make: (i) => ({ packages: { demo: '', [`lib-${i}`]: '' } }) },
  versions: { what: 'versions', make: (i) => ({ packages: { demo: `>=1.0,<1.${i + 1}` } }) },
  memory: { what: 'memory', make: (i) => ({ ...demo, min_memory_gb: 65 + i }) },
  gpus: { what: 'GPUs', make: (i) => ({ ...demo, min_gpu_count: 1 + i }) },
  mixtures: {
    what: 'labels, memory and versions',
    make: (i) => ({
      labels: { site: 'lab-a', [`k${i % 7}`]: 'v' },
      min_memory_gb: i % 100,
      packages: { demo: `>=2.${i}`, [`lib-${i % 50}`]: '>1' },
    }),
  },
  avoided: { what: 'whom they avoid', make: (i) => ({ ...demo, min_memory_gb: 1 + i / 1000 }) },
};

/** A queue of so many requirements, and workers that register with a declaration of their own each. */
class Filled {
  readonly #exclusions = new Exclusions();
  readonly #book = new RequirementBook();
  readonly #profiles = new Profiles(this.#book, this.#exclusions);
  readonly #index = new QueueIndex((key) => this.#profiles.filingOf(key));
  readonly workers: WorkerCell[];

  constructor(kind: string, count: number, workers: number) {
    this.workers = Array.from({ length: workers }, (_, i) => worker(i));
    const avoids = kind === 'avoided' ? this.workers.map(({ row }) => registrationOf(row)) : [];
    const { make } = KINDS[kind] as (typeof KINDS)[string];
    for (let seq = 1; seq <= count; seq++) {
      const requirement = this.#book.number(FOR_GOOD, make(seq)).id;
      const key = this.#exclusions.enter(FOR_GOOD, seq, { requirement, avoids, paths: [] });
      this.#index.add(FOR_GOOD, key, 0, seq);
    }
  }

  /** Milliseconds of a look that finds nothing. */
  look(worker: WorkerCell): number {
    const began = performance.now();
    const found = this.#index.take(FOR_GOOD, this.#profiles.viewsOf(worker));
    const taken = performance.now() - began;
    if (found) throw new Error(`the worker was to find nothing, and found requirement ${found.key}`);
    return taken;
  }
}

const worker = (i: number): WorkerCell => {
  const packages = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`package-${n}`, '1.0']));
  const labels = {
    site: 'lab-a',
    host: `host-${i}`,
    ...Object.fromEntries([0, 1, 2].map((n) => [`k${n}`, 'v'])),
  };
  const declared = {
    labels,
    capabilities: { memory_gb: 64 },
    version: { packages: { demo: '1.99999', ...packages } },
  };
  return new WorkerCell(workerRow(`worker_${i}`, declared), true);
};

export const requirements: Workload = {
  name: 'requirements',
  about:
    'What the scheduler does for a lease that finds nothing, with 5,000 distinct requirements queued, in a warm process: the first look of a worker that declares what nobody did before, and each later one. The worst is what the garbage collector took.',
  maxRuns: 1,
  async run(bench) {
    const readings: Reading[] = [];
    const count = bench.pick(5000, 5000, 50);
    for (const [kind, { what }] of Object.entries(KINDS)) {
      // A task avoids at most five.
      const workers = kind === 'avoided' ? 5 : bench.pick(200, 100, 5);
      const filled = new Filled(kind, count, workers);
      const first = filled.workers.map((one) => filled.look(one)).slice(workers / 2);
      const later = Array.from({ length: 10 }, () => filled.workers.map((one) => filled.look(one))).flat();
      const reading = (id: string, text: string, value: number, targets = [atMost(LONGEST)]): Reading => ({
        id: `requirements.${kind}.${id}`,
        what: `${text}, requirements differ in ${what}`,
        unit: 'ms',
        value,
        targets,
      });
      readings.push(
        reading('first', 'first look, median', quantile(first, 0.5)),
        reading('first.most', 'first look, 95 of 100', quantile(first, 0.95)),
        reading('first.worst', 'first look, worst', Math.max(...first), []),
        reading('later', 'later look, median', quantile(later, 0.5)),
        reading('later.worst', 'later look, worst', Math.max(...later), []),
      );
    }
    return readings;
  },
};
