import { JOB_STATES, TASK_STATES, WORKER_STATES } from '../../machines/schema/views.ts';
import type { Connection } from '../store/open.ts';
import type { MinuteRow, TallyRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { MINUTES, TALLY } from '../store/tables.ts';

type Counts = Readonly<Record<string, number>>;

const zeros = (states: readonly string[]): Counts => Object.fromEntries(states.map((state) => [state, 0]));

/** A status that somebody left, undefined when it is new, and the one it has now. */
type Step = { before: { status: string } | null; after: { status: string } };

/** How many jobs, tasks and workers are in each status, as committed. */
export class Tally {
  jobs: Counts = zeros(JOB_STATES);
  tasks: Counts = zeros(TASK_STATES);
  workers: Counts = zeros(WORKER_STATES);
  minute: MinuteRow = emptyMinute(0);

  /** Reads what the last commit left; a store that has no tally yet is counted. */
  async recover(store: Store, nowSeconds: number): Promise<void> {
    const [row] = await store.load(TALLY, 'id = 1');
    if (row) Object.assign(this, { jobs: row.jobs, tasks: row.tasks, workers: row.workers });
    else await this.#count(store.reader);
    const minute = Math.floor(nowSeconds / 60);
    const [begun] = await store.load(MINUTES, 'minute = ?', minute);
    this.minute = begun ?? emptyMinute(minute);
  }

  async #count(reader: Connection): Promise<void> {
    for (const table of ['jobs', 'tasks', 'workers'] as const) {
      const rows = await reader.all<{ status: string; n: number }[]>(
        `SELECT status, COUNT(*) AS n FROM ${table} GROUP BY status`,
      );
      this[table] = { ...this[table], ...Object.fromEntries(rows.map(({ status, n }) => [status, n])) };
    }
  }

  /** The row that a turn with these moves leaves. */
  rowWith(moves: { jobs: readonly Step[]; tasks: readonly Step[]; workers: readonly Step[] }): TallyRow {
    return {
      id: 1,
      jobs: moved(this.jobs, moves.jobs),
      tasks: moved(this.tasks, moves.tasks),
      workers: moved(this.workers, moves.workers),
    };
  }

  /** The turn is written. */
  accept({ jobs, tasks, workers }: TallyRow, minute: MinuteRow): void {
    this.jobs = jobs;
    this.tasks = tasks;
    this.workers = workers;
    this.minute = minute;
  }

  /** The row of the minute that `nowSeconds` is in, with what a turn adds to it. */
  minuteWith(nowSeconds: number, added: Added): MinuteRow {
    const minute = Math.floor(nowSeconds / 60);
    const base = this.minute.minute === minute ? this.minute : emptyMinute(minute);
    return {
      minute,
      submitted: base.submitted + added.submitted,
      started: base.started + added.started,
      succeeded: base.succeeded + added.succeeded,
      failed: base.failed + added.failed,
      queued: (this.tasks.queued ?? 0) + added.queued,
      workers_alive: (this.workers.alive ?? 0) + added.workers_alive,
    };
  }
}

/** What a turn adds to its minute: tasks that moved, and by how much the queue and the live workers changed. */
export type Added = Omit<MinuteRow, 'minute'>;

export function emptyMinute(minute: number): MinuteRow {
  return { minute, submitted: 0, started: 0, succeeded: 0, failed: 0, queued: 0, workers_alive: 0 };
}

function moved(counts: Counts, steps: readonly Step[]): Counts {
  if (steps.every(({ before, after }) => before?.status === after.status)) return counts;
  const next: Record<string, number> = { ...counts };
  for (const { before, after } of steps) {
    if (before?.status === after.status) continue;
    if (before) next[before.status] = (next[before.status] ?? 0) - 1;
    next[after.status] = (next[after.status] ?? 0) + 1;
  }
  return next;
}
