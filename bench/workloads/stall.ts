import { setTimeout as delay } from 'node:timers/promises';
import { startLoad } from '../load/process.ts';
import { CASE_NAMES, CASES, type CaseName } from '../load/stall-cases.ts';
import type { MeasuredServer } from '../measure/server.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { Others } from './others.ts';
import { Probe } from './probe.ts';

/** Milliseconds that no request may keep the event loop. */
const LONGEST = 100;

export const stall: Workload = {
  name: 'stall',
  about:
    'Requests that are hostile or merely large, one after the other, on one server. Beside each, `GET /healthz` is asked every millisecond: its longest answer is what other clients feel of the request, and the most that the main thread worked between two of its answers is what that would be on a machine with nothing else to do. The status and time of the answer stand in parentheses. Where very many tasks change, a worker goes on with the tasks of another job: the longest that it waited for a heartbeat, a lease and the acknowledgement of a result.',
  maxRuns: 1,
  async run(bench) {
    const server = await bench.server();
    const readings: Reading[] = [];
    for (const name of chosen()) readings.push(...(await measure(server, name, bench.pick(1, 0.1, 0.002))));
    return readings;
  },
};

/** Those that change very many tasks, while others want to change some too. */
const WRITING: readonly CaseName[] = ['cancelQueued', 'cancelRunning', 'retry'];

/** All, or those that `STALL_CASES` names. */
function chosen(): CaseName[] {
  const named = process.env.STALL_CASES?.split(',');
  return CASE_NAMES.filter((name) => named?.includes(name) ?? true);
}

async function measure(server: MeasuredServer, name: CaseName, size: number): Promise<Reading[]> {
  const load = await startLoad('stall', { url: server.url, name, size });
  // What the preparation left to be tidied up is not the request's.
  await delay(300);
  server.reset();
  const probe = await Probe.begin(server);
  const others = WRITING.includes(name) ? await Others.begin(server.url) : null;
  const { status, seconds, answer } = await load.go();
  // What follows the answer counts as well.
  await delay(200);
  const { waited, worked } = await probe.end();
  const longest = Object.entries((await others?.end()) ?? {});
  process.stderr.write(
    `  ${name}: ${status}, ${Math.round(waited)} ms waited, ${Math.round(worked)} ms worked\n`,
  );
  if (status >= 500) throw new Error(`${CASES[name].what}: ${status} ${answer}`);
  return [
    {
      id: `stall.${name}`,
      what: `${CASES[name].what} (${status} after ${seconds.toFixed(seconds < 1 ? 2 : 1)} s)`,
      unit: 'ms',
      value: waited,
      targets: [atMost(LONGEST)],
      server: server.usage(),
      per: { count: 1, what: 'request' },
    },
    {
      id: `stall.${name}.cpu`,
      what: '… processor time of the event loop in one go',
      unit: 'ms',
      value: worked,
    },
    ...longest.map(
      ([what, value]): Reading => ({
        id: `stall.${name}.${what}`,
        what: `… longest ${what} of another job`,
        unit: 'ms',
        value,
        targets: [atMost(LONGEST)],
      }),
    ),
  ];
}
