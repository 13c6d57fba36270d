import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterClient } from '../../gateway/client/client.ts';

interface Still {
  client: ClusterClient;
  /** Seconds. */
  leaseTtl: number;
  /** The processes that stand still, as they are at the moment when it begins. */
  processes(): number[];
}

/** How much longer than a lease they stand still, in seconds, and how long is listened to them afterwards. */
const BEYOND = 1;
const AFTERWARDS = 2;

/**
 * Processes are stopped for longer than a lease, and go on. Neither may a task be taken from a worker for silent, nor a
 * worker count as dead. What an earlier crash cost a worker, a lease whose answer never came, has expired before.
 * @returns what is wrong, a line each
 */
export async function standStill({ client, leaseTtl, processes }: Still): Promise<string[]> {
  await delay(1.5 * leaseTtl * 1000);
  const [last] = await client.call('listEvents', { query: { limit: 1 } });
  const stopped = processes();
  for (const pid of stopped) signal(pid, 'SIGSTOP');
  await delay((leaseTtl + BEYOND) * 1000);
  for (const pid of stopped) signal(pid, 'SIGCONT');
  await delay(AFTERWARDS * 1000);
  const faults: string[] = [];
  for (let after = last?.id ?? 0, more = true; more; ) {
    const events = await client.call('listEvents', { query: { after_id: after, limit: 5000 } });
    more = events.length === 5000;
    after = events.at(-1)?.id ?? after;
    for (const { type, task_id, worker_id } of events) {
      if (type !== 'task_lost' && type !== 'worker_dead') continue;
      faults.push(`after ${stopped.length} processes stood still: ${type} ${task_id ?? ''} of ${worker_id}`);
    }
  }
  return faults;
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (fault) {
    // A task may have ended meanwhile.
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault;
  }
}
