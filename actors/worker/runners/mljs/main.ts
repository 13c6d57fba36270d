// Command line of the embedded runner of `mljs.run`; see README.md next to this file for the protocol.
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { InputError, WorkerError } from '../../errors.ts';
import { expandPipeline } from './expand.ts';
import { writeJson } from './files.ts';
import { handOver, parseOrder } from './hand-over.ts';
import type { RunHooks } from './run.ts';
import { isPrediction, parsePrediction, parseTask, readTaskFile } from './task.ts';
import { packageVersion } from './versions.ts';

const EXIT_FAILURE = 1;
const EXIT_INPUT_FAULT = 2;
/** This machine cannot run any task: a library that cannot be loaded, a disk that is full. */
const EXIT_UNAVAILABLE = 69;
const OF_THE_MACHINE = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM'];

interface Arguments {
  taskFile: string;
  outputDir: string;
  resultFile: string;
}

function readArguments(): Arguments {
  const options = {
    'task-file': { type: 'string' },
    workspace: { type: 'string' },
    'output-dir': { type: 'string' },
    'result-file': { type: 'string' },
  } as const;
  const { values } = parseArgs({ options });
  const required = (name: keyof typeof options): string => {
    const value = values[name];
    if (!value) throw new InputError(`--${name} is missing`);
    return value;
  };
  // The workspace is part of the protocol of all runners; this one keeps everything in memory.
  return {
    taskFile: required('task-file'),
    outputDir: required('output-dir'),
    resultFile: required('result-file'),
  };
}

/** The analysis itself, with the libraries that it needs. */
async function load() {
  try {
    const [{ runTask }, { runPrediction }] = await Promise.all([import('./run.ts'), import('./predict.ts')]);
    return { runTask, runPrediction };
  } catch (error) {
    throw new WorkerError(`the runner cannot be loaded: ${(error as Error).message}`);
  }
}

async function main(): Promise<void> {
  if (process.argv[2] === '--version') {
    await load();
    process.stdout.write(`${packageVersion(import.meta.url)}\n`);
    return;
  }
  if (process.argv[2] === '--hand-over') {
    process.stdout.write(`${JSON.stringify(handOver(parseOrder(process.argv[3] ?? '')))}\n`);
    return;
  }
  const { taskFile, outputDir, resultFile } = readArguments();
  if (!existsSync(dirname(resultFile))) throw new InputError(`no folder for the result file: ${resultFile}`);
  const version = packageVersion(import.meta.url);
  const content = readTaskFile(taskFile);
  const finish = (result: object) =>
    writeJson(resultFile, {
      status: 'succeeded',
      mljs_version: version,
      duration_seconds: Number((performance.now() / 1000).toFixed(3)),
      ...result,
    });
  if (isPrediction(content)) {
    const task = parsePrediction(content);
    const { runPrediction } = await load();
    finish(runPrediction(task, outputDir, version, hooksFor(task)));
    return;
  }
  const task = parseTask(content);
  if (task.expandAtMost !== null) {
    const variants = expandPipeline(task.pipeline, task.expandAtMost);
    writeJson(resultFile, { status: 'succeeded', mljs_version: version, variants });
    return;
  }
  const { runTask } = await load();
  finish(runTask(task, outputDir, version, hooksFor(task)));
}

const hooksFor = ({ verbose }: { verbose: boolean }): RunHooks => ({
  log: (line) => {
    if (verbose) process.stdout.write(`${line}\n`);
  },
  progress: (fraction, message) => {
    process.stdout.write(`::progress ${Number(fraction.toFixed(4))} ${message}\n`);
  },
});

try {
  await main();
} catch (error) {
  const { message, stack } = error as Error;
  const code = String((error as NodeJS.ErrnoException).code);
  const ofTheInput = error instanceof InputError || code.startsWith('ERR_PARSE_ARGS');
  const ofTheMachine = error instanceof WorkerError || OF_THE_MACHINE.includes(code);
  process.stderr.write(`Error: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  // A fault of the runner itself: the place in the code is what its developers need.
  if (!ofTheInput && !ofTheMachine) {
    process.stderr.write(`${stack?.split('\n').slice(1).join('\n') ?? ''}\n`);
  }
  // No process.exit: it could cut off lines still on their way to a pipe.
  process.exitCode = ofTheInput ? EXIT_INPUT_FAULT : ofTheMachine ? EXIT_UNAVAILABLE : EXIT_FAILURE;
}
