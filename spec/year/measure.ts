import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ClusterClient } from '../../gateway/client/client.ts';
import { quietPort } from '../support/program.ts';
import { contentsOf, storeBytes } from './look.ts';
import type { World } from './world.ts';
import { YearServer } from './year-server.ts';

const MIB = 2 ** 20;
/** Times that each state is started, and rounds of requests that each server then answers; in turn. */
const [STARTS, ROUNDS, REQUESTS] = [15, 8, 60];

/** How large a state directory is, in mebibytes; and what is in it. */
export interface Sizes {
  store: number;
  objects: number;
  jobs: number;
  tasks: number;
  events: number;
  artifacts: number;
}

export async function sizesOf(state: string): Promise<Sizes> {
  const { jobs = [], tasks = [], events = [], artifacts = [] } = await contentsOf(state);
  return {
    store: (await storeBytes(state)) / MIB,
    objects: (await bytesBelow(join(state, 'objects'))) / MIB,
    ...{ jobs: jobs.length, tasks: tasks.length, events: events.length, artifacts: artifacts.length },
  };
}

/**
 * Kibibytes. How many artifacts there are is a matter of the month's jobs; what one takes must not grow, as it would if
 * objects stayed whose artifacts are gone.
 */
export const objectsAnArtifact = ({ objects, artifacts }: Sizes): number => (objects * 1024) / artifacts;

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

/** What a state is like for the server that has it. Mebibytes and milliseconds, each the least of several. */
export interface Figures {
  store: number;
  /** Kibibytes an artifact. */
  objects: number;
  /** Resident, once what is garbage is collected, after the same requests. */
  memory: number;
  start: number;
  submit: number;
  lease: number;
  complete: number;
}

type Name = 'second' | 'last';
type Verb = 'submit' | 'lease' | 'complete';

/**
 * Measures two states side by side: what else the machine does meets both. Each is served with the date that it has.
 */
export async function figuresOf(
  world: World,
  states: Record<Name, { state: string; at: number }>,
): Promise<Record<Name, Figures>> {
  const names = Object.keys(states) as Name[];
  const found = Object.fromEntries(names.map((name) => [name, {}])) as Record<Name, Figures>;
  const least = (name: Name, what: keyof Figures, value: number) => {
    found[name][what] = Math.min(found[name][what] ?? Number.POSITIVE_INFINITY, value);
  };
  // The first start migrates what an older version left.
  for (const name of names) await (await serve(world, states[name])).server.stop();
  for (const name of names) {
    const sizes = await sizesOf(states[name].state);
    Object.assign(found[name], { store: sizes.store, objects: objectsAnArtifact(sizes) });
  }
  for (let i = 0; i < STARTS; i++) {
    for (const name of names) {
      const { server } = await serve(world, states[name]);
      least(name, 'start', server.startMs);
      await server.stop();
    }
  }
  const served = new Map<Name, Served>();
  for (const name of names) served.set(name, await serve(world, states[name]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, { server, client }] of served) {
      const medians = await ask(client, REQUESTS);
      for (const verb of ['submit', 'lease', 'complete'] as const) least(name, verb, medians[verb]);
      least(name, 'memory', (await server.memory()).rss / MIB);
    }
  }
  for (const { server, client } of served.values()) {
    await client.close();
    await server.stop();
  }
  return found;
}

interface Served {
  server: YearServer;
  client: ClusterClient;
}

async function serve(world: World, { state, at }: { state: string; at: number }): Promise<Served> {
  const port = await quietPort();
  const server = await YearServer.start(world.home, at, world.config({ state, port }));
  return { server, client: new ClusterClient({ server: `http://127.0.0.1:${port}` }) };
}

/** Submits and does jobs of one task, one after the other. @returns the medians in milliseconds */
async function ask(client: ClusterClient, times: number): Promise<Record<Verb, number>> {
  const took: Record<Verb, number[]> = { submit: [], lease: [], complete: [] };
  const timed = async <T>(verb: Verb, work: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await work();
    took[verb].push(performance.now() - began);
    return result;
  };
  const labels = { site: 'measured' };
  const pipeline = { kind: 'inline_json' as const, inline: {} };
  const dataset = { kind: 'shared_path' as const, path: '/data' };
  const body = { type: 'demo.run', pipeline, dataset, requirements: { labels } };
  const version = { packages: { demo: '1.0' } };
  const { worker_id } = await client.call('registerWorker', { body: { labels, version } });
  for (let i = 0; i < times; i++) {
    await timed('submit', () => client.call('submitJob', { body }));
    const lease = { params: { id: worker_id }, body: { wait_s: 0 } };
    const { task } = await timed('lease', () => client.call('lease', lease));
    if (!task) throw new Error('no task was leased');
    const target = { params: { id: task.task_id }, query: { worker_id, attempt: task.attempt } };
    await client.call('startTask', target);
    await timed('complete', () =>
      client.call('completeTask', { ...target, body: { metrics: { best_rmse: 1 } } }),
    );
  }
  const leaving = { params: { id: worker_id }, body: { active: [], leaving: 'stopped' as const } };
  await client.call('heartbeat', leaving);
  return { submit: median(took.submit), lease: median(took.lease), complete: median(took.complete) };
}

const median = (values: number[]): number =>
  values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
