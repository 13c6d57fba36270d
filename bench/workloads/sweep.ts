import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClusterClient } from '../../gateway/client/client.ts';
import { PYTHON } from '../../spec/nirs4all/where.ts';
import type { Bench } from '../bench.ts';
import { watchMemory } from '../measure/tree.ts';
import { startWorker, type WorkerOptions } from '../measure/worker.ts';
import { type Cost, has, LOOK_AT_MEMORY_MS, withoutQueue } from '../sweep/peers.ts';
import { waiting } from '../sweep/waiting.ts';
import { atMost, type Reading, type Target, type Workload } from '../workload.ts';
import { getJson, runJob } from './checks.ts';
import { tableArchive } from './inputs.ts';
import { inlinePipelines, runTasks } from './noops.ts';

const GASOLINE = fileURLToPath(new URL('../../examples/gasoline', import.meta.url));
const SPECTRA = fileURLToPath(new URL('../../examples/nirs4all/gasoline', import.meta.url));
/** One thread each, or the two processes take each other's processor. */
const ONE_THREAD = { OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
const MB = 1_000_000;

export const sweep: Workload = {
  name: 'sweep',
  about:
    '24 pipelines of nirs4all (no preprocessing, SNV, first derivative, or Savitzky–Golay × PLS with 2 to 7 components, five folds) on the gasoline data, one thread each: in a for-loop of one program, with joblib and with Dask in two processes, from the start of the program to its end; and with a worker of two slots that has registered, from the submission to the last result. Processor time is that of all processes together (of ours: server, worker, hosts, tasks), memory the peak of their proportional set sizes. Each way has to give the same numbers. Then 8 slots that have loaded the library, tiny tasks of `mljs`, tasks that do nothing, and such with an uploaded dataset of 50 MB.',
  onlyWhenNamed: true,
  async run(bench) {
    const library = await has(PYTHON, 'nirs4all');
    if (!library) leftOut('what needs nirs4all', `${PYTHON} lacks it; spec/nirs4all/setup.sh installs it`);
    return [
      ...(library ? await table(bench) : []),
      ...(library ? await waiting(bench, PYTHON, ONE_THREAD) : []),
      ...(await small(bench)),
    ];
  },
};

const leftOut = (what: string, why: string) => process.stderr.write(`sweep: ${what} is left out: ${why}\n`);

/** The sweep in each way. @throws Error when one gives other numbers than the for-loop */
async function table(bench: Bench): Promise<Reading[]> {
  const job = {
    pipelines: pipelines().slice(0, bench.pick(24, 8, 1)),
    datasets: [{ kind: 'shared_path', path: SPECTRA }],
    params: { random_state: 42, verbose: 0, save_artifacts: false },
    outputs: { export_best_model: false },
  };
  const costs = new Map<string, Cost>();
  for (const how of ['loop', 'joblib', 'dask'] as const) {
    const package_ = how === 'dask' ? 'distributed' : 'joblib';
    if (how !== 'loop' && !(await has(PYTHON, package_))) leftOut(how, `${PYTHON} lacks ${package_}`);
    else costs.set(how, await withoutQueue(PYTHON, how, job, bench.directory(), ONE_THREAD));
  }
  const [cold] = await ours(bench, job, 1, ['--cold']);
  const [first, second] = await ours(bench, job, 2);
  for (const [way, cost] of Object.entries({ cold, first, second })) costs.set(way, cost as Cost);
  const expected = JSON.stringify(costs.get('loop')?.rmse);
  for (const [way, { rmse }] of costs) {
    if (JSON.stringify(rmse) !== expected) throw new Error(`${way} gives ${rmse}, the for-loop ${expected}`);
  }
  return [...costs].flatMap(([way, cost]) => readings(way, cost));
}

interface Named {
  name: string;
}

interface Ranked {
  aggregate: { ranking: { pipeline: string; metrics: { best_rmse: number } }[] };
}

const WAYS: Record<string, string> = {
  loop: 'for-loop in one process',
  joblib: 'joblib, 2 processes',
  dask: 'Dask, 2 workers',
  cold: 'ours, cold',
  first: 'ours, first sweep of a worker just started',
  second: 'ours, second sweep of a warm worker',
};

const TARGETS: Record<string, Target[]> = {
  'first.wall': [atMost(1.2, 'sweep.joblib.wall')],
  'second.wall': [atMost(0.85, 'sweep.joblib.wall'), atMost(0.6, 'sweep.dask.wall')],
  'second.cpu': [atMost(1.25, 'sweep.loop.cpu')],
};

function readings(way: string, { seconds, cpuSeconds, bytes }: Cost): Reading[] {
  const reading = (figure: string, what: string, unit: Reading['unit'], value: number): Reading => ({
    id: `sweep.${way}.${figure}`,
    what: `${WAYS[way]}: ${what}`,
    unit,
    value,
    targets: TARGETS[`${way}.${figure}`] ?? [],
  });
  return [
    reading('wall', 'wall time', 's', seconds),
    reading('cpu', 'processor time', 's', cpuSeconds),
    reading('memory', 'memory', 'MiB', bytes / 2 ** 20),
  ];
}

/** So many sweeps, one after the other, on a server and a worker that have just been started. */
async function ours(
  bench: Bench,
  job: { pipelines: readonly Named[] },
  sweeps: number,
  argv: string[] = [],
): Promise<Cost[]> {
  const server = await bench.server();
  const options: WorkerOptions = { argv: ['--python', PYTHON, ...argv], env: ONE_THREAD };
  const worker = await startWorker(server.url, bench.directory(), options);
  try {
    const costs: Cost[] = [];
    for (let done = 0; done < sweeps; done++) {
      const used = () => server.usage().cpuSeconds + worker.cpuSeconds();
      const before = used();
      const peak = watchMemory(LOOK_AT_MEMORY_MS, server.pid, worker.pid);
      const { id, seconds } = await runJob(
        server.url,
        { type: 'nirs4all.run', ...job },
        job.pipelines.length,
      ).finally(peak);
      const [cpuSeconds, bytes] = [used() - before, peak()];
      costs.push({ seconds, cpuSeconds, bytes, rmse: await errors(server.url, id, job.pipelines) });
    }
    return costs;
  } finally {
    await worker.kill();
  }
}

/** What the server has as the best_rmse of each pipeline. */
async function errors(url: string, id: string, pipelines: readonly Named[]): Promise<number[]> {
  const { aggregate } = await getJson<Ranked>(url, `/v1/jobs/${id}`);
  const known = new Map(aggregate.ranking.map(({ pipeline, metrics }) => [pipeline, metrics.best_rmse]));
  return pipelines.map(({ name }) => known.get(name) ?? Number.NaN);
}

function pipelines(): Named[] {
  const transforms = {
    none: [],
    snv: ['StandardNormalVariate'],
    der: ['FirstDerivative'],
    sg: ['SavitzkyGolay'],
  };
  const folds = {
    class: 'sklearn.model_selection.KFold',
    params: { n_splits: 5, shuffle: true, random_state: 42 },
  };
  const model = (n_components: number) => ({
    model: { class: 'sklearn.cross_decomposition.PLSRegression', params: { n_components } },
  });
  return Object.entries(transforms).flatMap(([name, classes]) =>
    [2, 3, 4, 5, 6, 7].map((components) => ({
      kind: 'inline_json',
      name: `${name}-${components}`,
      inline: [
        ...classes.map((one) => ({ class: `nirs4all.operators.transforms.${one}` })),
        folds,
        model(components),
      ],
    })),
  );
}

/** What each task costs that computes next to nothing. */
async function small(bench: Bench): Promise<Reading[]> {
  const server = await bench.server();
  const client = new ClusterClient({ server: server.url });
  const worker = await startWorker(server.url, bench.directory(), { slots: 4 });
  try {
    const file = await tableArchive(join(bench.directory(), 'table.zip'), bench.pick(50, 50, 1) * MB);
    const { artifact_id } = await client.upload('uploadArtifact', { file });
    const there = { kind: 'shared_path', path: GASOLINE };
    const tiny = Array.from({ length: bench.pick(200, 50, 3) }, (_, i) => ({
      kind: 'inline_json',
      name: `${i}`,
      inline: { steps: [{ pls: { components: 2 } }] },
    }));
    const cases = [
      ['mljs', 'tiny tasks of mljs', 'mljs.run', tiny, there],
      ['noop', 'tasks that do nothing', 'noop.run', inlinePipelines(bench.pick(1000, 200, 3)), there],
      [
        'dataset',
        'tasks that do nothing with a dataset of 50 MB, uploaded before',
        'noop.run',
        inlinePipelines(bench.pick(100, 50, 3)),
        { kind: 'artifact', artifact_id },
      ],
    ] as const;
    const found: Reading[] = [];
    for (const [id, what, type, pipelines, dataset] of cases) {
      server.reset();
      const { seconds, workerMs } = await runTasks(worker, server.url, {
        type,
        pipelines,
        datasets: [dataset],
      });
      const [count, usage] = [pipelines.length, server.usage()];
      const cpuMs = workerMs + (usage.cpuSeconds * 1000) / count;
      const cost = `${what}: processor time a task, of all processes together`;
      found.push(
        {
          id: `sweep.${id}.wall`,
          what: `${count} ${what}: wall time`,
          unit: 's',
          value: seconds,
          server: usage,
          per: { count, what: 'task' },
        },
        { id: `sweep.${id}.cpu`, what: cost, unit: 'ms', value: cpuMs },
      );
    }
    return found;
  } finally {
    await worker.kill();
    await client.close();
  }
}
