import { setTimeout as delay } from 'node:timers/promises';
import { FrameReader } from '../load/frames.ts';
import { HttpPool } from '../load/http-pool.ts';
import { matrixJob, worker } from '../load/sample-job.ts';
import type { MeasuredServer } from '../measure/server.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { Probe } from './probe.ts';

/** Milliseconds that nothing may keep the event loop. */
const LONGEST = 100;

interface Moment {
  what: string;
  /** Seconds that are short on its server, enough for the preparation. */
  short: ('leaseTtl' | 'workerDeadAfter')[];
  /** Brings everything to where only time, or the last step, is missing; `begin` takes it. */
  prepare(server: MeasuredServer, pool: HttpPool, count: number): Promise<Step>;
}

interface Step {
  begin(): Promise<void>;
  /** Whether all of it has happened. */
  isOver(): Promise<boolean> | boolean;
  end?(): void;
}

interface Stats {
  tasks_in_flight: number;
  workers_dead: number;
}

const stats = async (pool: HttpPool) => JSON.parse(await pool.read('/v1/stats')) as Stats;

/** One worker that runs so many tasks; all its leases are renewed in one moment, with its last heartbeat. */
async function holding(pool: HttpPool, count: number): Promise<Step['begin']> {
  await pool.accepted('/v1/jobs', matrixJob(count / 10, 10));
  const registered = await pool.accepted('/v1/workers/register', worker('holding', count));
  const { worker_id } = JSON.parse(registered) as { worker_id: string };
  for (let held = 0; held < count; ) {
    const answer = await pool.accepted(`/v1/workers/${worker_id}/lease`, '{"max_tasks":1000}');
    held += (JSON.parse(answer) as { tasks: unknown[] }).tasks.length;
  }
  return async () => void (await pool.accepted(`/v1/workers/${worker_id}/heartbeat`, '{}'));
}

const MOMENTS: Record<string, Moment> = {
  expiry: {
    what: '10,000 leases expire in one moment',
    short: ['leaseTtl'],
    prepare: async (_, pool, count) => ({
      begin: await holding(pool, count),
      isOver: async () => (await stats(pool)).tasks_in_flight === 0,
    }),
  },
  silence: {
    what: 'a worker that runs 10,000 tasks is dead',
    short: ['workerDeadAfter'],
    prepare: async (_, pool, count) => ({
      begin: await holding(pool, count),
      isOver: async () => (await stats(pool)).workers_dead === 1,
    }),
  },
  deaths: {
    what: '10,000 workers are dead in one moment',
    short: ['workerDeadAfter'],
    prepare: async ({ url }, pool, count) => ({
      begin: async () => {
        const many = await HttpPool.open(url, 32);
        const all = Array.from({ length: count }, (_, i) => worker(`worker ${i}`, 1));
        await Promise.all(all.map((body) => many.accepted('/v1/workers/register', body)));
        many.close();
      },
      isOver: async () => (await stats(pool)).workers_dead === count,
    }),
  },
  watching: {
    what: 'somebody begins to watch 10,000 tasks that are in motion',
    short: [],
    prepare: async ({ url }, pool, count) => {
      await holding(pool, count);
      let seen = 0;
      let reader: FrameReader | null = null;
      return {
        begin: async () => {
          reader = await FrameReader.open(url, '/v1/inspect', () => seen++);
        },
        isOver: () => seen >= count,
        end: () => reader?.close(),
      };
    },
  },
};

export const moments: Workload = {
  name: 'moments',
  about:
    'What no request asks for, or what it only begins: very much that happens at once. Measured as the requests of `stall` are, beside a `GET /healthz` every millisecond.',
  maxRuns: 1,
  async run(bench) {
    const count = bench.pick(10_000, 1000, 20);
    const short = bench.pick(30, 10, 2);
    const readings: Reading[] = [];
    for (const [name, moment] of Object.entries(MOMENTS)) {
      const times = Object.fromEntries(moment.short.map((time) => [time, short]));
      const server = await bench.server(undefined, times);
      readings.push(...(await measure(server, { name, moment, count })));
      await server.kill();
    }
    return readings;
  },
};

async function measure(
  server: MeasuredServer,
  { name, moment, count }: { name: string; moment: Moment; count: number },
): Promise<Reading[]> {
  const pool = await HttpPool.open(server.url, 1);
  const step = await moment.prepare(server, pool, count);
  server.reset();
  const probe = await Probe.begin(server);
  await step.begin();
  while (!(await step.isOver())) await delay(20);
  // What follows counts as well.
  await delay(200);
  const { waited, worked } = await probe.end();
  step.end?.();
  pool.close();
  return [
    {
      id: `moments.${name}`,
      what: moment.what,
      unit: 'ms',
      value: waited,
      targets: [atMost(LONGEST)],
      server: server.usage(),
      per: { count: 1, what: 'moment' },
    },
    {
      id: `moments.${name}.cpu`,
      what: '… processor time of the event loop in one go',
      unit: 'ms',
      value: worked,
      targets: [atMost(LONGEST)],
    },
  ];
}
