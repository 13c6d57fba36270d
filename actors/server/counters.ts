import { JOB_STATUSES, TASK_STATUSES, WORKER_STATUSES } from '../../machines/schema/statuses.ts';
import type { MinuteRow, TallyRow } from './store/rows.ts';
import type { Queries } from './store/sql.ts';
import type { Store } from './store/store.ts';
import { MINUTES, TALLY } from './store/tables.ts';

type Counts = Readonly<Record<string, number>>;

const zeros = (states: readonly string[]): Counts => Object.fromEntries(states.map((state) => [state, 0]));

/** Of what the statuses are counted. */
export type CountedKind = 'jobs' | 'tasks' | 'workers';

/** What one turn does to the counters. */
export class TurnCounts {
  /** By how many each status has gained. */
  readonly jobs: Record<string, number> = {};
  readonly tasks: Record<string, number> = {};
  readonly workers: Record<string, number> = {};
  /** Tasks that came, or came into a status, whatever became of them. */
  readonly came = { submitted: 0, running: 0, succeeded: 0, failed: 0 };

  /**
   * @param from null: it is new
   * @param to null: it is no more
   */
  move(kind: CountedKind, from: string | null, to: string | null): void {
    const gains = this[kind];
    if (to !== null) gains[to] = (gains[to] ?? 0) + 1;
    if (from !== null) gains[from] = (gains[from] ?? 0) - 1;
    if (kind !== 'tasks') return;
    if (from === null) this.came.submitted++;
    if (to === 'running' || to === 'succeeded' || to === 'failed') this.came[to]++;
  }
}

/** How many jobs, tasks and workers are in each status, as committed. */
export class Counters {
  jobs: Counts = zeros(JOB_STATUSES);
  tasks: Counts = zeros(TASK_STATUSES);
  workers: Counts = zeros(WORKER_STATUSES);
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

  async #count(reader: Queries): Promise<void> {
    for (const table of ['jobs', 'tasks', 'workers'] as const) {
      const rows = await reader.all<{ status: string; n: number }[]>(
        `SELECT status, COUNT(*) AS n FROM ${table} GROUP BY status`,
      );
      this[table] = { ...this[table], ...Object.fromEntries(rows.map(({ status, n }) => [status, n])) };
    }
  }

  /** The row that a turn leaves. */
  rowWith({ jobs, tasks, workers }: TurnCounts): TallyRow {
    return {
      id: 1,
      jobs: sum(this.jobs, jobs),
      tasks: sum(this.tasks, tasks),
      workers: sum(this.workers, workers),
    };
  }

  /** The turn is written. */
  accept(nowSeconds: number, counts: TurnCounts): void {
    const minute = this.minuteWith(nowSeconds, counts);
    const { jobs, tasks, workers } = this.rowWith(counts);
    Object.assign(this, { jobs, tasks, workers, minute });
  }

  /** The row of the minute that `nowSeconds` is in, with what a turn adds to it. */
  minuteWith(nowSeconds: number, { came, tasks, workers }: TurnCounts): MinuteRow {
    const minute = Math.floor(nowSeconds / 60);
    const base = this.minute.minute === minute ? this.minute : emptyMinute(minute);
    return {
      minute,
      submitted: base.submitted + came.submitted,
      started: base.started + came.running,
      succeeded: base.succeeded + came.succeeded,
      failed: base.failed + came.failed,
      queued: (this.tasks.queued ?? 0) + (tasks.queued ?? 0),
      workers_alive: (this.workers.alive ?? 0) + (workers.alive ?? 0),
    };
  }
}

export function emptyMinute(minute: number): MinuteRow {
  return { minute, submitted: 0, started: 0, succeeded: 0, failed: 0, queued: 0, workers_alive: 0 };
}

function sum(counts: Counts, gains: Counts): Counts {
  const next: Record<string, number> = { ...counts };
  for (const status in gains) next[status] = (next[status] ?? 0) + (gains[status] as number);
  return next;
}
