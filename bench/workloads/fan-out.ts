import { once } from 'node:events';
import { forkScript, startLoad } from '../load/process.ts';
import { cpuSeconds, type MeasuredServer } from '../measure/server.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { getJson } from './checks.ts';

const PER_SECOND = 100;

export const fanOut: Workload = {
  name: 'fan-out',
  about:
    '1,000 clients follow the global event stream, in a process of their own, while a worker reports 100 events a second, each in a request and a commit of its own. Every client must get every event once and in order. Beside it a bare uWebSockets.js server that publishes the same frames to the same clients, and our server without any client.',
  async run(bench) {
    const clients = bench.pick(1000, 200, 20);
    const ticks = bench.pick(20, 3, 1) * PER_SECOND;
    const server = await bench.server();
    // Warms the server up, too.
    const alone = await oursTo(server, 0, ticks);
    const ours = await oursTo(server, clients, ticks);
    // A tick's text, as the stream sends it.
    const frame = JSON.stringify((await newestJobEvents(server)).at(-1));
    await server.stop();
    const bare = await bareTo(clients, ticks, frame);
    const perFrame = (cpu: number) => (cpu / (clients * ticks)) * 1e6;
    const reading = (id: string, what: string, unit: Reading['unit'], value: number): Reading => ({
      id: `fan-out.${id}`,
      what,
      unit,
      value,
    });
    return [
      {
        ...reading('p99', 'event sent to received, p99', 'ms', ours.p99),
        targets: [atMost(250)],
        server: { cpuSeconds: ours.cpu, peakBytes: ours.peakBytes, bytes: ours.peakBytes },
        per: { count: clients * ticks, what: 'frame' },
        generatorLoad: ours.receiverLoad,
      },
      reading('p50', 'event sent to received, p50', 'ms', ours.p50),
      reading('bare.p99', 'the same of the bare publish, p99', 'ms', bare.p99),
      {
        ...reading('cpu', 'processor time a frame, commits included', 'µs', perFrame(ours.cpu)),
        targets: [atMost(1.5, 'fan-out.bare')],
      },
      reading(
        'net',
        'processor time a frame, less that of the server without clients',
        'µs',
        perFrame(ours.cpu - alone.cpu),
      ),
      reading('bare', 'processor time a frame of the bare publish', 'µs', perFrame(bare.cpu)),
    ];
  },
};

/** Lets so many clients follow a server's events while so many are reported. */
export async function oursTo(server: MeasuredServer, clients: number, ticks: number) {
  const ticking = await startLoad('tick', { url: server.url, perSecond: PER_SECOND, ticks });
  // Behind what was there before: the history of an earlier run is not to be counted.
  const { id } = (await newestJobEvents(server)).at(-1) as { id: number };
  const path = `/v1/events/stream?after_id=${id}`;
  const measured = await followed(server.url, path, clients, ticks, async () => {
    server.reset();
    await ticking.go();
  });
  const { cpuSeconds: cpu, peakBytes } = server.usage();
  return { ...measured, cpu, peakBytes };
}

async function newestJobEvents({ url }: MeasuredServer): Promise<unknown[]> {
  const [job] = await getJson<{ id: string }[]>(url, '/v1/jobs?limit=1');
  return getJson<unknown[]>(url, `/v1/jobs/${job?.id}/events?limit=5000`);
}

async function bareTo(clients: number, ticks: number, frame: string) {
  const server = forkScript('publish-server.ts');
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const pid = server.pid as number;
    let before = 0;
    const measured = await followed(`http://127.0.0.1:${port}`, '/', clients, ticks, async () => {
      before = cpuSeconds(pid);
      server.send({ frame, perSecond: PER_SECOND, ticks });
    });
    return { ...measured, cpu: cpuSeconds(pid) - before };
  } finally {
    server.kill('SIGKILL');
  }
}

/** Lets the clients follow while ticks are sent; resolves when all have come. */
async function followed(
  url: string,
  path: string,
  clients: number,
  ticks: number,
  send: () => Promise<void>,
): Promise<{ p50: number; p99: number; receiverLoad: number }> {
  if (clients === 0) {
    await send();
    return { p50: 0, p99: 0, receiverLoad: 0 };
  }
  const seconds = ticks / PER_SECOND;
  const load = await startLoad('follow', { url, path, clients, ticks, seconds: seconds * 3 + 30 });
  const following = load.go();
  const [done] = await Promise.all([following, send()]);
  if (done.frames !== clients * ticks) throw new Error(`${done.frames} of ${clients * ticks} frames came`);
  return { p50: done.p50, p99: done.p99, receiverLoad: done.generatorCpuSeconds / seconds };
}
