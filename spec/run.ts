// `npm test`: runs every specification, or those that are named, in an environment that is everywhere the same, and
// says at the end which failed, and which were left out and why.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { batchesOf, moduleOf } from './support/batches.ts';
import { cleanEnvironment } from './support/environment.ts';
import { readOutcomes, summarise } from './support/outcome.ts';
import { startTestStore } from './support/test-store.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const REPORTER = new URL('./support/outcome-reporter.mjs', import.meta.url).href;

/** Minutes that no file takes, nor several that share a process, however busy the machine: what hangs is ended, and fails. */
const LONGEST = 10;

const USAGE = `npm test [-- [--all] [FILE…]]

  --all  A specification that is left out is a failure. Without it one whose needs this machine does not meet is left
         out, which is no failure.
`;

interface Run {
  files: string[];
  /** Whether none may be left out. */
  all: boolean;
}

function readArguments(argv: string[]): Run {
  const options = { all: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  return { files: positionals.length > 0 ? positionals : everySpecification(), all: values.all ?? false };
}

function everySpecification(): string[] {
  const spec = join(ROOT, 'spec');
  const folders = readdirSync(spec, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .flatMap(({ name }) => readdirSync(join(spec, name)).map((file) => `spec/${name}/${file}`))
    .filter((file) => file.endsWith('.spec.ts'))
    .sort();
}

/** What the runner of Node is to run, each in a process of its own. */
function modulesFor(files: readonly string[], folder: string): string[] {
  return batchesOf(files.map((file) => resolve(ROOT, file))).map((batch, i) => {
    if (batch.length === 1) return relative(ROOT, batch[0] as string);
    const path = join(folder, `batch-${i}.mjs`);
    writeFileSync(path, moduleOf(batch));
    return path;
  });
}

/** Runs the files with the runner of Node, to whose own lines nothing is added. */
function runFiles(files: string[], home: string, outcomes: string): Promise<number> {
  const reporters = [
    ...['--test-reporter', process.stdout.isTTY ? 'spec' : 'tap', '--test-reporter-destination', 'stdout'],
    ...['--test-reporter', REPORTER, '--test-reporter-destination', outcomes],
  ];
  const argv = [
    '--import',
    import.meta.resolve('tsx'),
    '--test',
    '--test-concurrency=2',
    `--test-timeout=${LONGEST * 60_000}`,
    ...reporters,
    ...files,
  ];
  const child = spawn(process.execPath, argv, {
    cwd: ROOT,
    env: cleanEnvironment(process.env, home),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  // Ctrl-C reaches the child by the terminal; this program waits for its end.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill());
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

const { files, all } = readArguments(process.argv.slice(2));
process.umask(0o022);
// Now and once, rather than by the first programs that the specifications start.
spawnSync(process.execPath, [join(ROOT, 'bin/start/install.js')], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'jq-spec-run-'));
try {
  const list = join(folder, 'outcomes');
  // Node does not begin it where there is no such file to run.
  writeFileSync(list, '');
  const store = await startTestStore();
  const home = mkdtempSync(join(folder, 'home-'));
  const code = await runFiles(modulesFor(files, folder), home, list).finally(() => store?.stop());
  const { lines, unexpected } = summarise(readOutcomes(readFileSync(list, 'utf8')), all);
  const mark = process.stdout.isTTY ? 'ℹ' : '#';
  for (const line of lines) console.log(`${mark} ${line}`);
  process.exitCode = code !== 0 ? code : unexpected.length > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
