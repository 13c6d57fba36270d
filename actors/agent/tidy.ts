import { mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { endMarked } from './child/leftovers.ts';
import type { OutboxEntry } from './delivery/outbox.ts';
import { runPaths, tasksFolder } from './paths.ts';

/**
 * Ends and removes what an earlier worker program left in its state directory: processes that still run,
 * and the directories of tasks, except those whose results wait in the outbox.
 */
export async function tidy(state: string, saved: readonly OutboxEntry[], log: Logger): Promise<void> {
  const keep = new Set(saved.map(({ ref }) => runPaths(state, ref).root));
  const folder = tasksFolder(state);
  await mkdir(folder, { recursive: true });
  for (const task of await readdir(folder)) {
    const attempts = await readdir(join(folder, task)).catch(() => []);
    for (const attempt of attempts) {
      const root = join(folder, task, attempt);
      if (await endMarked(join(root, 'process.json'))) log.warn({ task, attempt }, 'ended a left-over task');
      if (!keep.has(root)) await rm(root, { recursive: true, force: true });
    }
    await rmdir(join(folder, task)).catch(() => {});
  }
}
