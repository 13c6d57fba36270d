import { libraryOf } from '../../machines/decompose.ts';
import type { Lease, Outcome } from '../../machines/run.ts';
import { outcomeOf } from './child/ending.ts';
import { runGroup } from './child/group.ts';
import { markProcess } from './child/leftovers.ts';
import { Output } from './child/output.ts';
import type { Runner } from './config.ts';
import type { Workshop } from './workshop.ts';

/** Runs the analysis of an attempt in a child process, and says how it went. Rejects where it cannot start. */
export async function runChild(shop: Workshop, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  const room = shop.room(lease.ref);
  const { paths, mark } = room;
  const [command, ...args] = runnerFor(shop.settings.runners, lease.payload.type).command;
  const output = new Output(room.log, room.events);
  markProcess(paths.process, mark);
  let group: number | undefined;
  try {
    const end = await runGroup({
      command: command as string,
      args: [
        ...args,
        ...['--task-file', paths.spec, '--workspace', paths.workspace],
        ...['--output-dir', paths.output, '--result-file', paths.result],
      ],
      cwd: paths.workspace,
      env: childEnvironment(),
      mark,
      graceMs: shop.settings.graceSeconds * 1000,
      signal,
      onSpawn: (pid) => {
        group = pid;
        shop.guard.watch(pid);
        markProcess(paths.process, mark, pid);
      },
      stdout: (stream) => output.stdout(stream),
      stderr: (stream) => output.stderr(stream),
    });
    if (end.survivors.length > 0) {
      room.note(`these processes hang in the kernel and cannot be ended: ${end.survivors.join(', ')}`);
    }
    return await outcomeOf(end, paths.result, output.errorText, room.fingerprints);
  } finally {
    if (group !== undefined) shop.guard.release(group);
  }
}

function runnerFor(runners: readonly Runner[], type: string): Runner {
  const library = libraryOf(type);
  const runner = runners.find((r) => r.library === library);
  if (!runner || runner.command.length === 0) throw new Error(`this worker has no runner for ${type}`);
  return runner;
}

/** The worker's, without its credential. Python shall not hold its lines back. */
function childEnvironment(): NodeJS.ProcessEnv {
  const { JQ_TOKEN: _, ...rest } = process.env;
  return { PYTHONUNBUFFERED: '1', ...rest };
}
