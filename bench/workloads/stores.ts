import { postgresCluster } from '../../spec/support/postgres.ts';
import { postgresPrograms } from '../../spec/support/postgres-programs.ts';
import type { Bench } from '../bench.ts';
import { runLoad } from '../load/process.ts';
import type { Usage } from '../measure/server.ts';
import { atLeast, type Reading, type Workload } from '../workload.ts';
import { assertStats, queueJobs } from './checks.ts';

const CONNECTIONS = 64;

/** What a store in PostgreSQL reaches of what one in SQLite does, and of another queue on such a server. */
const TARGETS = {
  submit: [],
  lifecycle: [atLeast(0.6, 'stores.sqlite.lifecycle')],
  batch: [atLeast(1, 'peers.graphile.process')],
} as const;

export const stores: Workload = {
  name: 'stores',
  about:
    "The same on both stores, SQLite and PostgreSQL, on the same disk: one-task jobs submitted over 64 connections, their life with 64 simulated workers of one slot, three requests a task, and that of as many with 8 workers of 64 slots that lease and report in batches. Of PostgreSQL the server's processor time is that of jq-server alone.",
  async run(bench) {
    const sqlite = await on(bench, 'sqlite');
    if (postgresPrograms() === undefined) {
      process.stderr.write(
        'stores: there is no PostgreSQL 15 or newer here (Debian: apt-get install postgresql); SQLite alone is measured\n',
      );
      return sqlite;
    }
    // A tiny run is not for figures, and lies where nobody but its owner comes.
    const folder = bench.pick(bench.options.folder, bench.options.folder, undefined);
    const cluster = await postgresCluster({ shared_buffers: '512MB' }, folder);
    try {
      return [...sqlite, ...(await on(bench, 'postgresql', await cluster.database()))];
    } finally {
      await cluster.stop();
    }
  },
};

async function on(bench: Bench, name: 'sqlite' | 'postgresql', store?: string): Promise<Reading[]> {
  const tasks = bench.pick(20_000, 4_000, 200);
  const server = await bench.server(bench.directory(), { store });
  const { url } = server;
  const measured = async (
    kind: keyof typeof TARGETS,
    what: string,
    per: string,
    work: () => Promise<number>,
  ): Promise<Reading> => {
    server.reset();
    const value = await work();
    const used: Usage = server.usage();
    return {
      id: `stores.${name}.${kind}`,
      what: `${name}: ${what}`,
      unit: '/s',
      value,
      targets: name === 'postgresql' ? TARGETS[kind] : [],
      server: used,
      per: { count: tasks, what: per },
    };
  };
  const submit = await measured('submit', 'jobs accepted', 'job', async () => {
    const { accepted, seconds } = await runLoad('submit', { url, jobs: tasks, connections: CONNECTIONS });
    return accepted / seconds;
  });
  await assertStats(url, { queued: tasks });
  const lifecycle = await measured('lifecycle', 'tasks done, one a request', 'task', async () => {
    const { completed, seconds } = await runLoad('lifecycle', { url, tasks, workers: CONNECTIONS });
    return completed / seconds;
  });
  await assertStats(url, { succeeded: tasks, queued: 0 });
  await queueJobs(url, tasks);
  const batch = await measured('batch', 'tasks done, in batches of 64', 'task', async () => {
    const { completed, seconds } = await runLoad('batchLifecycle', { url, tasks, workers: 8, batch: 64 });
    return completed / seconds;
  });
  await assertStats(url, { succeeded: 2 * tasks, queued: 0 });
  await server.stop();
  return [submit, lifecycle, batch];
}
