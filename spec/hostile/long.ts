// Fuzzes a real server for a given number of runs or minutes: `npm run hostile -- --runs N --seed S`, `--minutes M` at most.
import { parseArgs } from 'node:util';
import { machineLine, writeSection } from '../support/report.ts';
import { Seeded } from '../support/seeded.ts';
import { noise } from './noise.ts';
import { Fuzzer } from './openapi/fuzz.ts';
import { type OversizedFigures, oversizedViews } from './oversized.ts';
import { OpenScope } from './scope.ts';
import { Target } from './target.ts';
import { fuzzZips } from './zips.ts';

/** Requests to each operation in one round; each round has a seed of its own and a look at the server after it. */
const ROUND = 100;

/** Of so many rounds, one also tries to make views too large, on a server of its own. */
const OVERSIZED_EVERY = 10;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    operation: { type: 'string' },
    minutes: { type: 'string', default: '600' },
  },
});
const runs = Number(values.runs);
const seed = Number(values.seed);

const scope = new OpenScope();
const startedAt = performance.now();
let failed = 0;

/** Runs one part; a failure says how to see it again, and the other parts go on. */
async function attempt(what: string, replay: string, part: () => Promise<void>): Promise<void> {
  try {
    await part();
  } catch (fault) {
    failed++;
    console.error(`\n${what} FAILED\n${(fault as Error).message}\nagain: npm run hostile -- ${replay}\n`);
  }
}

const target = await Target.start(scope, ['--heartbeat-interval', '1']);
const before = await target.memory();
const fuzzer = await Fuzzer.against(target);
const operations = fuzzer.document.operations.filter(
  ({ id }) => values.operation === undefined || id === values.operation,
);
const whole = values.operation === undefined;
let zips = 0;
let connections = 0;
const oversized: OversizedFigures & { grown: number; servers: number } = {
  ...{ sent: 0, shown: 0, refused: 0, stalled: 0, grown: 0, servers: 0 },
};
const end = startedAt + Number(values.minutes) * 60_000;
for (let done = 0, round = seed; done < runs && performance.now() < end; done += ROUND, round++) {
  const count = Math.min(ROUND, runs - done);
  const replay = `--runs ${count} --seed ${round}`;
  for (const operation of operations) {
    await attempt(operation.id, `${replay} --operation ${operation.id}`, () =>
      fuzzer.run(operation, { seed: round, runs: count }),
    );
  }
  if (!whole) continue;
  await attempt('noise', replay, async () => {
    connections += await noise(target, { seed: round, runs: count });
  });
  await attempt('zips', replay, async () => {
    zips += await fuzzZips({ seed: round, runs: count * 5 });
  });
  if ((done / ROUND) % OVERSIZED_EVERY === 0) {
    await attempt('oversized views', replay, () => oversize(round));
  }
  console.log(`seed ${round}: ${fuzzer.tally.requests} requests so far, ${failed} failures`);
}

/** Each on a server of its own, so that the lists of the others stay short. */
async function oversize(seed: number): Promise<void> {
  const own = new OpenScope();
  try {
    const server = await Target.start(own);
    const before = await server.memory();
    const found = await oversizedViews(server, { chance: new Seeded(seed), rows: 40, stalled: 100 });
    oversized.servers++;
    for (const key of ['sent', 'shown', 'refused', 'stalled'] as const) oversized[key] += found[key];
    oversized.grown = Math.max(oversized.grown, (await server.memory()) - before);
  } finally {
    await own.end();
  }
}

const seconds = Math.round((performance.now() - startedAt) / 1000);
const { requests, valid, statuses } = fuzzer.tally;
const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${status}: ${n}`);
const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
const grown = mib((await target.memory()) - before);
const figures = [
  machineLine(),
  '',
  `\`npm run hostile -- --runs ${runs} --seed ${seed} --minutes ${values.minutes}\`, ${seconds} s.`,
  '',
  '| | |',
  '|---|---|',
  `| operations of the OpenAPI document | ${operations.length} |`,
  `| requests | ${requests}, of them ${valid} as documented, the others broken |`,
  `| answers by status | ${answers.join(', ')} |`,
  `| connections with noise on them (HTTP and WebSocket) | ${connections} |`,
  `| damaged zip archives unpacked | ${zips} |`,
  `| servers with views made as large as they get | ${oversized.servers}: ${mib(oversized.sent)} reported, ${mib(oversized.shown)} shown, ${oversized.refused} submissions and registrations refused, ${oversized.stalled} clients that do not read |`,
  `| growth of their memory at most | ${mib(oversized.grown)} |`,
  `| growth of the server's memory | ${grown} |`,
  `| answers that the document does not name, hangs, crashes, faults in the log | ${failed} |`,
];
console.log(figures.join('\n'));
if (whole && failed === 0) writeSection('Hostile input', figures.join('\n'));
await scope.end();
process.exitCode = failed === 0 ? 0 : 1;
