import type { WorkerRow } from '../../actors/server/store/rows.ts';

/** A live worker as the store has it, with what a test wants to differ. */
export const workerRow = (id: string, differs: Partial<WorkerRow> = {}): WorkerRow => ({
  ...{ id, name: null, principal: 'anonymous', session: 1, status: 'alive', state: 'idle' },
  ...{ registered_at: 1, last_seen_at: 1, labels: {}, capabilities: {}, version: {} },
  ...{ slots_total: 1, slots_used: 0, suspended: null, leaving: null },
  ...differs,
});
