import type { ActiveTask, HeartbeatRequest } from '../schema/worker.ts';

/** A list of active tasks as columns: of very many, that copies from one process to another in a tenth of the time. */
export interface ActiveColumns {
  ids: string[];
  attempts: number[];
  stopping: boolean[];
}

/** What the queue needs of a heartbeat. */
export type HeartbeatDigest = {
  [K in 'wait_s' | 'session' | 'suspended' | 'leaving']: HeartbeatRequest[K] | undefined;
} & { active: ActiveColumns | undefined };

export function digestHeartbeat({ active, ...rest }: HeartbeatRequest): HeartbeatDigest {
  const { wait_s, session, suspended, leaving } = rest;
  return { wait_s, session, suspended, leaving, active: active && columnsOf(active) };
}

function columnsOf(active: readonly ActiveTask[]): ActiveColumns {
  const columns: ActiveColumns = { ids: [], attempts: [], stopping: [] };
  for (const { task_id, attempt, stopping = false } of active) {
    columns.ids.push(task_id);
    columns.attempts.push(attempt);
    columns.stopping.push(stopping);
  }
  return columns;
}

export function activeTasks({ ids, attempts, stopping }: ActiveColumns): ActiveTask[] {
  return ids.map((task_id, i) => ({
    task_id,
    attempt: attempts[i] as number,
    stopping: stopping[i] as boolean,
  }));
}
