import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import yauzl from 'yauzl';
import type { Nirs4allRunner } from '../../actors/worker/runners/nirs4all/index.ts';
import { heard } from '../support/heard.ts';
import { WarmRunners } from './warm.ts';

export const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));
const inRepository = (path: string) => join(REPOSITORY, path);

/** Calibration and validation samples, in files as nirs4all expects them. */
export const GASOLINE = inRepository('examples/nirs4all/gasoline');
/** Calibration samples only, separated by commas. */
export const GASOLINE_COMMA = inRepository('examples/gasoline');
export const pipelineFile = (name: string): string =>
  inRepository(`examples/nirs4all/pipelines/${name}.yaml`);

// Threads of the linear algebra that wait for each other on few busy cores take longer than one alone.
process.env.OMP_NUM_THREADS ??= '1';

/** Every child loads a large library; more at a time would only make all of them slow. */
const children = new PQueue({ concurrency: 2 });

const root = mkdtempSync(join(tmpdir(), 'jq-nirs4all-'));
/** What tasks are forked from, unless `JQ_SPEC_RUNNER` is `cold`. */
export const warm = new WarmRunners(mkdtempSync(join(root, 'warm-')));
after(async () => {
  await warm.close();
  rmSync(root, { recursive: true, force: true });
});

/** A new empty folder that is removed when the tests of the file are over. */
export const scratch = (): string => mkdtempSync(join(root, 'at-'));

/** Writes a pipeline file and returns its path. */
export function writePipeline(content: unknown, name = 'pipeline.json'): string {
  const path = join(scratch(), name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

export interface TaskInput {
  pipeline: string | Record<string, unknown>;
  dataset: string;
  params?: Record<string, unknown>;
  inner_n_jobs?: number;
  outputs?: Record<string, unknown>;
  /** Which task of which job it is. */
  task?: Record<string, unknown>;
}

/** The content of a result file. */
export interface Report {
  pipeline_fingerprint?: string;
  metrics: Record<string, number | null>;
  counts: Record<string, number>;
  extra: {
    engine: string | null;
    best: Record<string, unknown>;
    model_file: string | null;
    validation: string | null;
    target: string | null;
    warnings: string[];
  };
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
  folder: string;
  result(): Report;
}

/** Runs a task as the worker does: the runner as a child process, forked or started, in a folder of the task's own. */
export function runTask(runner: Nirs4allRunner, { pipeline, dataset, ...rest }: TaskInput): Promise<Ended> {
  const folder = scratch();
  const spec = {
    pipeline: typeof pipeline === 'string' ? { mode: 'path', path: pipeline } : pipeline,
    dataset: { mode: 'path', path: dataset },
    params: {},
    inner_n_jobs: 1,
    outputs: { export_best_model: false, keep_task_workspace: false },
    ...rest,
  };
  return runSpec(runner, folder, JSON.stringify(spec));
}

/** The same of a task that predicts. */
export function runPrediction(
  runner: Nirs4allRunner,
  { model, dataset, params }: { model: string; dataset: string; params: Record<string, unknown> },
): Promise<Ended> {
  const spec = { model: { mode: 'path', path: model }, dataset: { mode: 'path', path: dataset }, params };
  return runSpec(runner, scratch(), JSON.stringify({ ...spec, inner_n_jobs: 1, outputs: {} }));
}

export async function runSpec(runner: Nirs4allRunner, folder: string, spec: string): Promise<Ended> {
  const at = (name: string) => join(folder, name);
  await mkdir(at('workspace'));
  await mkdir(at('output'));
  writeFileSync(at('spec.json'), spec);
  const files = ['--task-file', at('spec.json'), '--workspace', at('workspace')];
  const results = ['--output-dir', at('output'), '--result-file', at('result.json')];
  const args = [...files, ...results];
  const begin = () =>
    process.env.JQ_SPEC_RUNNER === 'cold'
      ? run([...runner.command, ...args], '', at('workspace'))
      : warm.run(runner, args, folder);
  const ended = await children.add(begin);
  return { ...ended, folder, result: () => JSON.parse(readFileSync(at('result.json'), 'utf8')) };
}

export interface DirectRun {
  pipeline: unknown;
  dataset: unknown;
  params: Record<string, unknown>;
}

/** The scores that nirs4all gives without any queue; see direct.py. */
export async function callDirectly<Name extends string>(
  runner: Nirs4allRunner,
  runs: Record<Name, DirectRun>,
): Promise<Record<Name, Record<string, number | null>>> {
  const script = fileURLToPath(new URL('./direct.py', import.meta.url));
  const { code, stdout, stderr } = await children.add(() =>
    run([runner.command[0] as string, script], JSON.stringify(runs), scratch()),
  );
  if (code !== 0) throw new Error(`direct.py failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** What nirs4all predicts of spectra without any queue; see predict.py. */
export async function callPredictDirectly(
  runner: Nirs4allRunner,
  asked: [model: string, spectra: number[][]][],
): Promise<number[][]> {
  const script = fileURLToPath(new URL('./predict.py', import.meta.url));
  const { code, stdout, stderr } = await children.add(() =>
    run([runner.command[0] as string, script], JSON.stringify(asked), scratch()),
  );
  if (code !== 0) throw new Error(`predict.py failed: ${stderr}`);
  return JSON.parse(stdout);
}

export async function run([program, ...args]: readonly string[], input: string, cwd: string) {
  const child = spawn(program as string, args, { cwd });
  const { outcome } = heard(child);
  // Should it end before it has read all, its own words say why.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return outcome;
}

/** A member of a bundle, which is JSON. */
export async function memberOf(path: string, name: string): Promise<Record<string, unknown>> {
  const bundle = await yauzl.openPromise(path);
  try {
    for await (const entry of bundle.eachEntry()) {
      if (entry.fileName !== name) continue;
      return JSON.parse(await text(await bundle.openReadStreamPromise(entry)));
    }
  } finally {
    bundle.close();
  }
  throw new Error(`${path} has no ${name}`);
}
