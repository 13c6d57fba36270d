import { spawn } from 'node:child_process';
import { PassThrough, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type ProgramName, runProgram } from '../../bin/program.ts';
import { heard, type Outcome } from '../support/heard.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const EXAMPLE = 'examples/gasoline-matrix.yaml';

export type { Outcome };

class Collector extends Writable {
  text = '';
  isTTY = false;
  columns = 80;
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface RunOptions {
  env?: Record<string, string>;
  stdin?: string;
  /** Pretend that both streams are a terminal of 80 columns. */
  terminal?: boolean;
  /** The columns of such a terminal, where they are not 80. */
  columns?: number;
  program?: ProgramName;
}

/** Starts a program in this process, its streams captured; `said` shows them while it runs. */
export function begin(argv: string[], options: RunOptions = {}) {
  const stdout = new Collector();
  const stderr = new Collector();
  stdout.isTTY = stderr.isTTY = options.terminal ?? false;
  stdout.columns = options.columns ?? stdout.columns;
  const stdin = options.stdin === undefined ? new PassThrough().end() : Readable.from([options.stdin]);
  const env = { TERM: 'xterm', ...options.env };
  const said = {
    get stdout() {
      return stdout.text;
    },
    get stderr() {
      return stderr.text;
    },
  };
  const outcome = runProgram(options.program ?? 'jqctl', argv, { env, stdin, stdout, stderr }).then(
    (code): Outcome => ({ code, stdout: stdout.text, stderr: stderr.text }),
  );
  return { said, outcome };
}

/** Runs a program in this process to its end. */
export const run = (argv: string[], options: RunOptions = {}): Promise<Outcome> =>
  begin(argv, options).outcome;

/**
 * Starts a program as a process of its own; `outcome` resolves when it has ended. One that hangs is killed long after
 * any test needs it.
 */
export function start(program: ProgramName, argv: string[], env: Record<string, string> = {}) {
  const child = spawn(`${ROOT}bin/${program}`, argv, {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...{ timeout: 300_000, killSignal: 'SIGKILL' },
  });
  return heard(child);
}
