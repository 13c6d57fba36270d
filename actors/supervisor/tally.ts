import { JOB_STATES, TASK_STATES, WORKER_STATES } from '../../machines/schema/views.ts';
import type { Connection } from '../store/open.ts';
import type { MinuteRow } from '../store/rows.ts';

type Counts = Record<string, number>;

const zeros = (states: readonly string[]): Counts => Object.fromEntries(states.map((state) => [state, 0]));

/** How many jobs, tasks and workers are in each status, as committed; counted once at start-up, then kept. */
export class Tally {
  readonly jobs: Counts = zeros(JOB_STATES);
  readonly tasks: Counts = zeros(TASK_STATES);
  readonly workers: Counts = zeros(WORKER_STATES);
  minute: MinuteRow = emptyMinute(0);

  async recount(reader: Connection, nowSeconds: number): Promise<void> {
    for (const [table, counts] of [
      ['jobs', this.jobs],
      ['tasks', this.tasks],
      ['workers', this.workers],
    ] as const) {
      const rows = await reader.all<{ status: string; n: number }[]>(
        `SELECT status, COUNT(*) AS n FROM ${table} GROUP BY status`,
      );
      for (const { status, n } of rows) counts[status] = n;
    }
    const minute = Math.floor(nowSeconds / 60);
    this.minute =
      (await reader.get<MinuteRow>('SELECT * FROM stats_minutes WHERE minute = ?', minute)) ??
      emptyMinute(minute);
  }

  static move(counts: Counts, from: string | undefined, to: string): void {
    if (from === to) return;
    if (from !== undefined) counts[from] = (counts[from] ?? 0) - 1;
    counts[to] = (counts[to] ?? 0) + 1;
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
