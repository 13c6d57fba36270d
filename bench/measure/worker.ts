import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { treeCpuSeconds } from './tree.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/jq-worker', import.meta.url));

export interface MeasuredWorker {
  readonly pid: number;
  /** Processor time so far of it and of all its processes, in seconds. */
  cpuSeconds(): number;
  /** Ends it in an orderly way. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface WorkerOptions {
  /** Tasks at the same time. Default 2. */
  slots?: number;
  /** A directory that gets a CPU profile when the worker has stopped. */
  profile?: string | undefined;
  /** Further options of the program. */
  argv?: readonly string[];
  /** What of its environment is another than that of this process. */
  env?: NodeJS.ProcessEnv;
}

/** A real `bin/jq-worker`; its `noop.run` is a shell script that writes a result and nothing else. */
export async function startWorker(
  url: string,
  folder: string,
  { slots = 2, profile, argv: more = [], env }: WorkerOptions = {},
): Promise<MeasuredWorker> {
  const script = join(folder, 'noop.sh');
  writeFileSync(script, 'echo \'{"status":"succeeded","metrics":{"best_rmse":1}}\' > "$8"\n');
  const argv = ['--server', url, '--state', join(folder, 'state'), '--slots', `${slots}`, '--json'];
  argv.push('--log-level', 'warn', '--runner', `noop=sh ${script}`, ...more);
  const options = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const child = spawn(process.execPath, [...options, PROGRAM, ...argv], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);
  await Promise.race([once(child.stdout, 'data'), exited]);
  if (child.exitCode !== null) throw new Error(`jq-worker ended with ${child.exitCode} before it worked`);
  const pid = child.pid as number;
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    process.removeListener('exit', orphaned);
  };
  return {
    pid,
    cpuSeconds: () => treeCpuSeconds(pid),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}
