import { constants } from 'node:fs';
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { validator } from '../../../machines/schema/validate.ts';
import { endMarked, readNote } from '../child/leftovers.ts';
import { system } from '../child/system.ts';
import { AttemptRef, type OutboxEntry } from '../delivery/outbox.ts';
import { openPlain } from '../files.ts';
import { removeTree } from '../remove-tree.ts';
import { type AttemptPaths, attemptPaths, tasksFolder } from './paths.ts';

const check = validator(AttemptRef);

const INTERRUPTED = 'the worker program that ran this was killed, or its machine went down';

/**
 * Ends and removes what an earlier worker program left in its state directory: processes that still run,
 * and the directories of tasks, except those whose results wait in the outbox.
 * @returns what is to be reported of attempts that had not come to an end: they have failed, and need not wait
 *   for the expiry of their leases; of their directories the log is left
 */
export async function recoverLeftovers(
  state: string,
  saved: readonly OutboxEntry[],
  log: Logger,
): Promise<OutboxEntry[]> {
  const keep = new Set(saved.map(({ ref }) => attemptPaths(state, ref).root));
  const folder = tasksFolder(state);
  const interrupted: OutboxEntry[] = [];
  await mkdir(folder, { recursive: true });
  for (const task of await readdir(folder)) {
    const attempts = await readdir(join(folder, task)).catch(() => []);
    for (const attempt of attempts) {
      const root = join(folder, task, attempt);
      if (await endMarked(join(root, 'attempt.json'), folder))
        log.warn({ task, attempt }, 'ended a left-over task');
      if (keep.has(root)) continue;
      const entry = await interruptedIn(state, root, log);
      if (entry) interrupted.push(entry);
      else await drop(root, log);
    }
    await rmdir(join(folder, task)).catch(() => {});
  }
  return interrupted;
}

/**
 * Removes the directories of tasks that a copy of a state directory holds, except those whose results wait in the
 * outbox. What they tell of is the original's: its processes are not touched, and nothing of it is reported.
 */
export async function dropLeftovers(
  state: string,
  saved: readonly OutboxEntry[],
  log: Logger,
): Promise<void> {
  const keep = new Set(saved.map(({ ref }) => attemptPaths(state, ref).root));
  const folder = tasksFolder(state);
  for (const task of await readdir(folder).catch(() => [])) {
    for (const attempt of await readdir(join(folder, task)).catch(() => [])) {
      const root = join(folder, task, attempt);
      await drop(keep.has(root) ? join(root, 'attempt.json') : root, log);
    }
    await rmdir(join(folder, task)).catch(() => {});
  }
}

/** Removes what a task has left, unless the system does not let it: the worker's work does not hang on it. */
const drop = (path: string, log: Logger): Promise<void> =>
  removeTree(path).catch((fault: Error) => {
    log.warn({ path, why: fault.message }, 'what a task has left cannot be removed; remove it by hand');
  });

/** The end of an attempt that was cut short; null for a directory that nothing is known of. */
async function interruptedIn(state: string, root: string, log: Logger): Promise<OutboxEntry | null> {
  const ref = await readRef(tasksFolder(state), join(root, 'attempt.json'));
  if (ref === null) return null;
  const paths = attemptPaths(state, ref);
  // A note that names another directory is none of this one.
  if (paths.root !== root) return null;
  const files = (await keepLog(paths, log)) ? [{ role: 'logs' as const, path: 'run.log' }] : [];
  return { ref, outcome: { verb: 'fail', failure: { error: INTERRUPTED, retriable: true } }, files };
}

async function readRef(base: string, file: string): Promise<AttemptRef | null> {
  const note = await readNote(base, file);
  // After a restart of the machine, or on a copy of its disk, this is no news: the lease has expired, or is another's.
  if (note.boot !== undefined && note.boot !== system.boot()) return null;
  const { task_id, attempt, worker_id } = note;
  const checked = check({ task_id, attempt, worker_id });
  return checked.ok ? checked.value : null;
}

/** Leaves the log alone in the directory, with a line that says how it came to its end. */
async function keepLog(paths: AttemptPaths, log: Logger): Promise<boolean> {
  for (const folder of [paths.inputs, paths.workspace, paths.output, paths.archive]) {
    await drop(folder, log);
  }
  try {
    const file = await openPlain(paths.base, paths.log, constants.O_WRONLY | constants.O_APPEND);
    await file.writeFile(`\n[jq-worker] ${INTERRUPTED}\n`).finally(() => file.close());
    return true;
  } catch {
    return false;
  }
}
