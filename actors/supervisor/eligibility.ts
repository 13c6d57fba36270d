import type { TaskRow } from '../store/rows.ts';
import type { WorkerAddress } from './address.ts';
import type { Core } from './core.ts';

/** By what a task remembers that it avoids a worker: a worker that registers anew is tried anew. */
export const registrationOf = ({ row }: WorkerAddress): string => `${row.id}#${row.session}`;

/** Whether a live worker beside this one meets what the task asks, and has not reported a fault of its own for it. */
export function couldRunElsewhere(core: Core, row: TaskRow, beside: WorkerAddress): boolean {
  for (const worker of core.registry.workers.values()) {
    if (worker === beside || worker.row.status !== 'alive') continue;
    if (row.avoids.includes(registrationOf(worker))) continue;
    if (core.requirements.isMetBy(row.requirement_id, worker)) return true;
  }
  return false;
}
