import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InputError } from '../../actors/worker/errors.ts';
import { mljsRunner } from '../../actors/worker/runners/mljs/index.ts';
import { randomSource } from '../../actors/worker/runners/mljs/random.ts';
import { type RunHooks, runTask } from '../../actors/worker/runners/mljs/run.ts';
import { parseTask } from '../../actors/worker/runners/mljs/task.ts';

export const GASOLINE = fileURLToPath(new URL('../../examples/gasoline', import.meta.url));

/** A new empty folder that is removed when the tests of the file are over. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mljs-spec-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A dataset folder with the given files; the content is text or rows of numbers. */
export function datasetOf(files: Record<string, string | number[][]>): string {
  const folder = scratch();
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : content.map((row) => row.join(',')).join('\n');
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Spectra whose y depends on them with some noise; the same for the same seed. */
export function madeUp(rows: number, columns: number, seed = 1): { x: number[][]; y: number[] } {
  const random = randomSource(seed);
  const weights = Array.from({ length: columns }, () => random() - 0.5);
  const x = Array.from({ length: rows }, () => weights.map((_, j) => Math.sin(j) + random()));
  const y = x.map((row) =>
    row.reduce((sum, value, j) => sum + value * (weights[j] as number), 0.2 * random()),
  );
  return { x, y };
}

/** Asserts that something throws an InputError with this one-line message. */
export function refusesInput(run: () => unknown, message: RegExp): void {
  assert.throws(run, (error: Error) => {
    assert.ok(error instanceof InputError, `not an InputError: ${error.stack}`);
    assert.match(error.message, message);
    assert.equal(error.message.includes('\n'), false);
    return true;
  });
}

export interface TaskInput {
  pipeline: unknown;
  dataset: string;
  params?: Record<string, unknown>;
  outputs?: Record<string, unknown>;
}

/** A task with its pipeline written to a file, as the worker makes it; text is written as YAML. */
export function taskOf({ pipeline, dataset, params = {}, outputs = {} }: TaskInput): Record<string, unknown> {
  const path = join(scratch(), typeof pipeline === 'string' ? 'pipeline.yaml' : 'pipeline.json');
  writeFileSync(path, typeof pipeline === 'string' ? pipeline : JSON.stringify(pipeline));
  return {
    pipeline: { mode: 'path', path },
    dataset: { mode: 'path', path: dataset },
    params,
    inner_n_jobs: 1,
    outputs: { export_best_model: true, keep_task_workspace: false, ...outputs },
  };
}

/** Runs a task in this process; returns its result, what it reported and its output folder. */
export function runHere(input: TaskInput) {
  const outputDir = scratch();
  const logs: string[] = [];
  const progress: number[] = [];
  const hooks: RunHooks = { log: (line) => logs.push(line), progress: (fraction) => progress.push(fraction) };
  const result = runTask(parseTask(taskOf(input)), outputDir, '0.0.0', hooks);
  return { ...result, outputDir, logs, progress };
}

/**
 * Runs a task as the worker does: the command of the runner as a child process, in a foreign folder.
 *
 * @param outputs name of the output folder in it; only the usual one is made
 */
export function runChild(task: unknown, outputs = 'outputs') {
  const cwd = scratch();
  const outputDir = join(cwd, outputs);
  const resultFile = join(cwd, 'result.json');
  const taskFile = join(cwd, 'task.json');
  if (outputs === 'outputs') mkdirSync(outputDir);
  writeFileSync(taskFile, typeof task === 'string' ? task : JSON.stringify(task));
  const [node, ...args] = mljsRunner.command;
  const files = ['--task-file', taskFile, '--workspace', cwd, '--output-dir', outputDir];
  const child = spawnSync(node, [...args, ...files, '--result-file', resultFile], { cwd, encoding: 'utf8' });
  const readResult = () => JSON.parse(readFileSync(resultFile, 'utf8'));
  return {
    status: child.status,
    stdout: child.stdout,
    stderr: child.stderr,
    outputDir,
    resultFile,
    readResult,
  };
}
