// `npm run scarcity`: the long forms. Figures go into spec/REPORT.md.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineLine, writeSection } from '../support/report.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { holdingClients, mostConnections } from './clients.ts';
import { fullDisk } from './disk.ts';
import { outOfFiles } from './files.ts';
import { logFlood } from './log-flood.ts';
import { longViews } from './long-views.ts';
import { slowStore } from './slow-store.ts';
import { slowStreams } from './streams.ts';

const MIB = 1024 * 1024;
const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
const root = mkdtempSync(join(tmpdir(), 'jq-scarcity-'));
const rows: string[] = [];
const began = performance.now();

/** Each in a directory of its own, one after another; a row of the report each. */
async function scenario(what: string, run: (folder: string) => Promise<string>): Promise<void> {
  const folder = mkdtempSync(join(root, 'run-'));
  const figures = await run(folder);
  rows.push(`| ${what} | ${figures} |`);
  console.log(rows.at(-1));
  rmSync(folder, { recursive: true });
}

await scenario('disk full, store and uploads', async () => {
  const disk = SmallDisk.mount(32);
  if (disk === null) return 'left out: this process may not mount a small file system';
  try {
    const { rounds, acknowledged, refused } = await fullDisk(disk, 20);
    return `full ${rounds} times under one server; ${acknowledged} requests acknowledged, ${refused} refused with 503 or 507, lost 0`;
  } finally {
    disk.unmount();
  }
});

await scenario('no more files to open', async (folder) => {
  const { limit, connections, load } = await outOfFiles(join(folder, 'state'), 60, 400);
  return `${connections} connections, ${limit} files; answered on known connections, recovered; processor ${Math.round(load * 100)} % of one core meanwhile`;
});

await scenario('commits of 500 ms', async (folder) => {
  const options = { state: join(folder, 'state'), slowMs: 500, seconds: 20, clients: 400, waves: 5 };
  const { accepted, perSecond, grownSmall, heavyAccepted, heavyRefused, heavyBroken, grownHeavy } =
    await slowStore(options);
  assert.ok(grownHeavy < 1024 * MIB, `memory grew by ${mib(grownHeavy)}`);
  return `${accepted} jobs of ${options.clients} clients, ${Math.round(perSecond)} a second, memory +${mib(grownSmall)}; of ${options.waves} times 60 jobs of 4 MB at once ${heavyAccepted} accepted, ${heavyRefused} told 503, ${heavyBroken} broken off, memory +${mib(grownHeavy)}; lost 0`;
});

await scenario('views longer than any text can be', async (folder) => {
  // One of them is, the tasks of a job; the others need only be many times as long as what is held of each.
  const lengths = { rows: 5000, bytes: 50_000, others: 4, othersBytes: 5 * MIB };
  const options = { state: join(folder, 'state'), ...lengths, stalled: 100 };
  const { answers, grownReading, grownStalled, slowest } = await longViews(options);
  const longest = Math.max(...Object.values(answers));
  assert.ok(longest > 512 * MIB, `the longest answer has ${mib(longest)}`);
  const most = 400 * MIB;
  for (const grown of [grownReading, grownStalled])
    assert.ok(grown < most, `memory grew by ${mib(grown)}, of ${mib(most)} that it may`);
  return `${Object.keys(answers).length} views of up to ${mib(longest)} read whole, memory +${mib(grownReading)}; ${options.stalled} clients that do not read them, +${mib(grownStalled)}, where ${mib(most)} are allowed; others answered within ${slowest} ms`;
});

await scenario('slow and stalled event streams', async (folder) => {
  const { streams, events, grown, closed, gaps, resumed } = await slowStreams({
    state: join(folder, 'state'),
    streams: 500,
    seconds: 60,
  });
  assert.ok(grown < 50 * MIB, `memory grew by ${mib(grown)}`);
  assert.equal(gaps, 0);
  return `${streams} for 60 s, ${events} events of 16 kB; memory +${mib(grown)}; ${closed} were closed with 1013 and resumed; all had everything ${resumed} s after they read again; gaps ${gaps}`;
});

await scenario('clients who hold on', async (folder) => {
  const idle = Math.min(10_000, mostConnections());
  const figures = await holdingClients({ state: join(folder, 'state'), idle, dripping: 100 });
  assert.ok(figures.grown < 100 * MIB, `memory grew by ${mib(figures.grown)}`);
  return `${idle} idle connections, 100 bodies and 100 heads at a byte a second, 100 bodies of 2 GB declared and not sent; memory +${mib(figures.grown)}, others answered within ${figures.slowest} ms, all let go within ${Math.round(figures.letGo)} s`;
});

await scenario('a task that logs 5 GB', async (folder) => {
  const { seconds, workerGrown, serverGrown, disk, logBytes, events } = await logFlood(folder, 5e9);
  assert.ok(
    Math.max(workerGrown, serverGrown) < 150 * MIB,
    `memory: ${mib(workerGrown)}, ${mib(serverGrown)}`,
  );
  assert.ok(disk < 80 * MIB, `disk: ${mib(disk)}`);
  return `${Math.round(seconds)} s; worker +${mib(workerGrown)}, server +${mib(serverGrown)}, worker's disk ${mib(disk)}, log kept ${mib(logBytes)}, ${events} log events`;
});

rmSync(root, { recursive: true });
writeSection(
  'Scarcity',
  `${machineLine()} ${Math.round((performance.now() - began) / 1000)} s. Memory is the peak over what it was before.

| What | Figures |
| --- | --- |
${rows.join('\n')}`,
);
