import type { CellJournal, WorkerCell } from '../../actors/server/runtime/actor-cell.ts';
import type { WorkerRow } from '../../actors/server/store/rows.ts';
import { FOR_GOOD } from '../../actors/server/turn/journal.ts';

/** A live worker as the store has it, with what a test wants to differ. */
export const workerRow = (id: string, differs: Partial<WorkerRow> = {}): WorkerRow => ({
  ...{ id, name: null, principal: 'anonymous', session: 1, status: 'alive', state: 'idle' },
  ...{ registered_at: 1, last_seen_at: 1, labels: {}, capabilities: {} },
  ...{ slots_total: 1, slots_used: 0, suspended: null, leaving: null, drained: null },
  ...differs,
  // A new object is how a registration is known.
  version: { ...differs.version },
});

/** A turn that is not undone. */
export const AT_ONCE: CellJournal = { ...FOR_GOOD, now: 0, rowChanged() {}, stateChanged() {} };

/** The worker has said that it lacks the path. */
export const lack = (worker: WorkerCell, path: string) =>
  worker.update(AT_ONCE, { missingPaths: worker.missingPaths.with(path, 'is not there', 0) });
