import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench } from '../bench.ts';
import { type PeerServer, startPostgres, startRedis } from '../peers/servers.ts';
import type { Reading, Workload } from '../workload.ts';

const FOLDER = fileURLToPath(new URL('../peers/', import.meta.url));
const execute = promisify(execFile);

/** The queues that ours is measured beside. */
const PEERS = [
  { id: 'bullmq', name: 'BullMQ', start: startRedis, jobs: [20_000, 4_000, 200] },
  { id: 'graphile', name: 'graphile-worker', start: startPostgres, jobs: [10_000, 2_000, 100] },
] as const;

export const peers: Workload = {
  name: 'peers',
  about:
    'BullMQ on Redis with `appendfsync always`, and graphile-worker on PostgreSQL with fsync, each on the same disk: jobs of the same content added by 64 at a time, then processed with concurrency 64. Measured by `npm run bench:peers`, in turns with submit, lifecycle and batch.',
  onlyWhenNamed: true,
  async run(bench) {
    if (!existsSync(`${FOLDER}node_modules`)) {
      throw new Error('the peers are not installed: npm ci --prefix bench/peers');
    }
    const readings: Reading[] = [];
    for (const peer of PEERS) {
      const server = await peer.start(bench.directory());
      try {
        readings.push(...(await measurePeer(bench, peer, server)));
      } finally {
        await server.stop();
      }
    }
    return readings;
  },
};

async function measurePeer(
  bench: Bench,
  peer: (typeof PEERS)[number],
  server: PeerServer,
): Promise<Reading[]> {
  const [full, quick, tiny] = peer.jobs;
  const jobs = bench.pick<number>(full, quick, tiny);
  const argv = [
    '--import',
    'tsx',
    `${FOLDER}${peer.id}.ts`,
    String(server.port),
    String(jobs),
    String(jobs / 10),
  ];
  const { stdout } = await execute(process.execPath, argv);
  const perSecond = JSON.parse(stdout) as { add: number; process: number };
  const reading = (verb: 'add' | 'process', what: string): Reading => ({
    id: `peers.${peer.id}.${verb}`,
    what: `${peer.name} on ${server.version}, ${what}`,
    unit: '/s',
    value: perSecond[verb],
  });
  return [reading('add', 'jobs added'), reading('process', 'jobs processed')];
}
