// `npm run model -- --runs M --seed N`: the long form. With JQ_TEST_STORE=postgresql the servers have their stores there.
import { parseArgs } from 'node:util';
import { machineLine, writeSection } from '../support/report.ts';
import { spread } from '../support/spread.ts';
import { startTestStore } from '../support/test-store.ts';
import type { LineKind } from './line.ts';
import type { ModelOutcome, ModelRun, Played } from './property.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    path: { type: 'string' },
    line: { type: 'string' },
    seconds: { type: 'string' },
  },
});

/** Sequences of one share; each share has a seed of its own, the next after that of the one before. A server of PostgreSQL is opened slowly. */
const SHARE = process.env.JQ_TEST_STORE === undefined ? 100 : 10;

const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const runs = Number(values.runs ?? 2000);
const until = performance.now() + 1000 * Number(values.seconds ?? Number.POSITIVE_INFINITY);

type ModelShare = Omit<ModelRun, 'base'>;

interface Total extends Pick<ModelOutcome, 'played' | 'sequences'> {
  took: number;
}

function* shares(line: LineKind, count: number): Generator<ModelShare> {
  const same = { line, longest: 40, path: values.path };
  for (let begun = 0; begun < count && performance.now() < until; begun += SHARE) {
    yield { ...same, seed: seed + begun / SHARE, runs: Math.min(SHARE, count - begun) };
  }
}

async function play(line: LineKind, count: number): Promise<Total> {
  const startedAt = performance.now();
  const total: Total = { sequences: 0, took: 0, played: {} as Played };
  const module = new URL('./share.ts', import.meta.url);
  for await (const { outcome } of spread<ModelShare, ModelOutcome>(module, shares(line, count))) {
    if (outcome.failure !== null) {
      process.stdout.write(`${outcome.failure}\n`);
      process.exitCode = 1;
      break;
    }
    total.sequences += outcome.sequences;
    for (const [what, n] of Object.entries(outcome.played) as [keyof Played, number][]) {
      total.played[what] = (total.played[what] ?? 0) + n;
    }
  }
  total.took = (performance.now() - startedAt) / 1000;
  process.stdout.write(`${line}: ${total.sequences} sequences in ${total.took.toFixed(1)} s, seed ${seed}\n`);
  return total;
}

const row = (name: string, { sequences, took, played }: Total): string =>
  `| ${[
    name,
    sequences,
    played.operations,
    played.requests,
    played.answered,
    played.groups,
    played.restarts,
    played.crashes,
    played.refusals,
    played.reused,
    Math.round(took),
  ].join(' | ')} |`;

const store = await startTestStore();
if (values.path !== undefined || values.line !== undefined) {
  await play((values.line ?? 'wire') as LineKind, values.path === undefined ? runs : 1);
} else {
  const wire = await play('wire', runs);
  const http = process.exitCode ? null : await play('http', Math.ceil(runs / 10));
  if (http !== null && !process.exitCode) report(wire, http);
}
await store?.stop();

function report(wire: Total, http: Total): void {
  const limit = values.seconds === undefined ? '' : ` --seconds ${values.seconds}`;
  writeSection(
    store ? 'Model-based tests on PostgreSQL' : 'Model-based tests',
    `${machineLine()} \`npm run model -- --runs ${runs} --seed ${seed}${limit}\`; state directories in memory where the
machine has such a place. Every answer, event and status was as the reference predicted: 0 differences, 0 losses.

| Line | Sequences | Operations | Requests | Answered | At once | Restarts | Crashes | Refused commits | Reused results | Seconds |
| ---- | --------- | ---------- | -------- | -------- | ------- | -------- | ------- | --------------- | -------------- | ------- |
${row('the gateway without its socket', wire)}
${row('HTTP on a real socket', http)}`,
  );
}
