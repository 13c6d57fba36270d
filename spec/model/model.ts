import { parseArgs } from 'node:util';
import { machineLine, writeSection } from '../support/report.ts';
import { fastFolder } from './base.ts';
import type { LineKind } from './line.ts';
import { type ModelOutcome, runModel } from './property.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    path: { type: 'string' },
    line: { type: 'string' },
    seconds: { type: 'string' },
  },
});

const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const runs = Number(values.runs ?? 2000);
const seconds = values.seconds === undefined ? undefined : Number(values.seconds);

async function play(line: LineKind, count: number): Promise<ModelOutcome & { took: number }> {
  const startedAt = performance.now();
  const base = fastFolder();
  const outcome = await runModel({ seed, runs: count, line, longest: 40, path: values.path, seconds, base });
  const took = (performance.now() - startedAt) / 1000;
  process.stdout.write(`${line}: ${outcome.sequences} sequences in ${took.toFixed(1)} s, seed ${seed}\n`);
  if (outcome.failure !== null) {
    process.stdout.write(`${outcome.failure}\n`);
    process.exit(1);
  }
  return { ...outcome, took };
}

const row = (name: string, { sequences, took, played }: ModelOutcome & { took: number }): string =>
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
    Math.round(took),
  ].join(' | ')} |`;

if (values.path !== undefined || values.line !== undefined) {
  await play((values.line ?? 'wire') as LineKind, runs);
} else {
  const wire = await play('wire', runs);
  const http = await play('http', Math.ceil(runs / 10));
  writeSection(
    'Model-based tests',
    `${machineLine()} \`npm run model -- --runs ${runs} --seed ${seed}${seconds === undefined ? '' : ` --seconds ${seconds}`}\`; state directories in memory where the
machine has such a place. Every answer, event and status was as the reference predicted: 0 differences, 0 losses.

| Line | Sequences | Operations | Requests | Answered | At once | Restarts | Crashes | Refused commits | Seconds |
| ---- | --------- | ---------- | -------- | -------- | ------- | -------- | ------- | --------------- | ------- |
${row('the gateway without its socket', wire)}
${row('HTTP on a real socket', http)}`,
  );
}
