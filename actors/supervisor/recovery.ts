import { REQUIREMENTS, TASKS, WORKERS } from '../store/tables.ts';
import type { Core } from './core.ts';
import { Pins } from './registry.ts';

/** Rows read at a time while the queue's index is rebuilt. */
const PAGE = 50_000;

/**
 * Replays the store into memory: workers, held tasks with their jobs, the index of queued tasks, the counters.
 * Every lease and every worker gets a full period anew, for nobody could be heard while the server was away.
 */
export async function recover(core: Core): Promise<void> {
  const { store, registry, deadlines, settings, tally, clock } = core;
  for (const row of await store.load(REQUIREMENTS, '1 ORDER BY id')) core.requirements.learn(row);
  for (const row of await store.load(WORKERS, '1 ORDER BY registered_at')) {
    registry.addWorker(row, true);
    if (row.status === 'alive') deadlines.set(`silence:${row.id}`, settings.workerDeadAfter);
  }
  await recoverHeld(core);
  await recoverQueue(core);
  await recoverSequences(core);
  await tally.recount(store.reader, clock.now());
}

async function recoverHeld(core: Core): Promise<void> {
  const { store, registry, deadlines, settings, signs, clock } = core;
  const rows = await store.load(TASKS, "status IN ('leased', 'running') ORDER BY seq");
  const pins = new Pins();
  for (const row of rows) {
    registry.addTask(pins, row, true);
    registry.noteHolder(null, row);
    deadlines.set(`lease:${row.id}`, settings.leaseTtl);
    signs.set(row.id, clock.monotonic());
    if (row.status === 'running' && row.timeout_seconds !== null) {
      deadlines.set(`timeout:${row.id}`, row.timeout_seconds + settings.timeoutGrace);
    }
  }
  await registry.fetch(pins, { tasks: rows.map((row) => row.id) });
  registry.letGo(pins);
}

/** One ordered scan over an index that covers it, in pages so that memory stays flat. */
async function recoverQueue({ store, queue }: Core): Promise<void> {
  type Entry = { priority: number; seq: number; requirement_id: number };
  let after: { priority: number; seq: number } | null = null;
  for (;;) {
    const where: string = after ? 'AND (priority < ? OR (priority = ? AND seq > ?))' : '';
    const params: number[] = after ? [after.priority, after.priority, after.seq] : [];
    const rows: Entry[] = await store.reader.all<Entry[]>(
      `SELECT priority, seq, requirement_id FROM tasks WHERE status = 'queued' ${where}
       ORDER BY priority DESC, seq LIMIT ${PAGE}`,
      params,
    );
    for (const { requirement_id, priority, seq } of rows) queue.add(requirement_id, priority, seq);
    const last: Entry | undefined = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last;
  }
}

async function recoverSequences({ store, sequences }: Core): Promise<void> {
  const largest = async (sql: string) => (await store.reader.get<{ n: number | null }>(sql))?.n ?? 0;
  sequences.job = (await largest('SELECT MAX(seq) AS n FROM jobs')) + 1;
  sequences.task = (await largest('SELECT MAX(seq) AS n FROM tasks')) + 1;
  sequences.event = (await largest('SELECT MAX(id) AS n FROM events')) + 1;
  sequences.lastCreatedAt = await largest('SELECT MAX(created_at) AS n FROM jobs');
}
