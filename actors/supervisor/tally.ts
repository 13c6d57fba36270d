import type { Connection } from '../store/open.ts';
import type { MinuteRow } from '../store/rows.ts';

type Counts = Record<string, number>;

/** How many jobs, tasks and workers are in each status, as committed; counted once at start-up, then kept. */
export class Tally {
  readonly jobs: Counts = {};
  readonly tasks: Counts = {};
  readonly workers: Counts = {};
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

  get queued(): number {
    return this.tasks.queued ?? 0;
  }

  /** The row of the minute that `nowSeconds` is in, with what happened added. */
  minuteWith(
    nowSeconds: number,
    happened: { submitted: number; started: number; succeeded: number; failed: number },
  ): MinuteRow {
    const minute = Math.floor(nowSeconds / 60);
    const base = this.minute.minute === minute ? this.minute : emptyMinute(minute);
    return {
      minute,
      submitted: base.submitted + happened.submitted,
      started: base.started + happened.started,
      succeeded: base.succeeded + happened.succeeded,
      failed: base.failed + happened.failed,
      queued: this.queued,
      workers_alive: this.workers.alive ?? 0,
    };
  }
}

export function emptyMinute(minute: number): MinuteRow {
  return { minute, submitted: 0, started: 0, succeeded: 0, failed: 0, queued: 0, workers_alive: 0 };
}
