import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../bin/jq-worker', import.meta.url));
/** As of the server: USER_HZ. */
const TICKS = 100;

export interface MeasuredWorker {
  /** Processor time so far of it and of all its processes that have ended, in seconds. */
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
}

/** A real `bin/jq-worker`; its `noop.run` is a shell script that writes a result and nothing else. */
export async function startWorker(
  url: string,
  folder: string,
  { slots = 2, profile }: WorkerOptions = {},
): Promise<MeasuredWorker> {
  const script = join(folder, 'noop.sh');
  writeFileSync(script, 'echo \'{"status":"succeeded","metrics":{"best_rmse":1}}\' > "$8"\n');
  const argv = ['--server', url, '--state', join(folder, 'state'), '--slots', `${slots}`, '--json'];
  argv.push('--log-level', 'warn', '--runner', `noop=sh ${script}`);
  const options = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const child = spawn(process.execPath, [...options, PROGRAM, ...argv], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);
  await Promise.race([once(child.stdout, 'data'), exited]);
  if (child.exitCode !== null) throw new Error(`jq-worker ended with ${child.exitCode} before it worked`);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    process.removeListener('exit', orphaned);
  };
  return {
    cpuSeconds() {
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
      // Its own time, user and system, and that of the children that it has waited for (`man 5 proc`).
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS;
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}
