import type { Logger } from 'pino';
import type { BackupsView } from '../../../machines/schema/views.ts';
import type { Clock } from '../../shared/clock.ts';
import type { MadeBackup } from './backup.ts';
import { aboutBackup, backupsIn } from './folder.ts';
import { type BackupReport, isWhole } from './report.ts';

export interface ScheduleOptions {
  /** The folder of backups. */
  to: string;
  /** Seconds between the moments of two of them. */
  every: number;
  clock: Clock;
  log: Logger;
  /** Makes one. Ends soon once the signal is given. @throws Error with a sentence why there is none */
  make(signal: AbortSignal): Promise<MadeBackup>;
}

/** After one that failed: a tenth of the time between two, and at most an hour. */
const LONGEST_RETRY = 3600;

/**
 * Makes backups at regular times, one after the other, and knows how the last one went. What is overdue at the start,
 * because the server was not running when it came due, is made at once.
 */
export class BackupSchedule {
  readonly #options: ScheduleOptions;
  readonly #stopping = new AbortController();
  #last: BackupReport | null = null;
  #nextAt = 0;
  #failure: { at: number; error: string } | null = null;
  #cancelTimer = () => {};
  #running: Promise<void> | null = null;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Looks for the newest backup that there is. One that cannot be looked for is a failure like any other. */
  async start(): Promise<void> {
    const { to, every, clock } = this.#options;
    const paths = await backupsIn(to).catch(() => []);
    for (const path of paths.reverse()) {
      this.#last = await aboutBackup(path);
      if (this.#last) break;
    }
    this.#plan((this.#last?.made_at ?? clock.now() - every) + every);
  }

  /** Breaks off what is being made; the next one goes on with it. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#running;
  }

  /** How it is at this moment. */
  get view(): BackupsView {
    const { clock, every } = this.#options;
    const last = this.#last;
    return {
      last: last && {
        made_at: last.made_at ?? 0,
        seconds: last.seconds,
        bytes: last.store.bytes + (last.objects.elsewhere === undefined ? last.objects.bytes : 0),
        copied_bytes: last.store.bytes + last.objects.copied_bytes,
        whole: isWhole(last),
      },
      running: this.#running !== null,
      next_at: this.#nextAt,
      overdue: last === null ? this.#failure !== null : clock.now() - (last.made_at ?? 0) > 2 * every,
      failure: this.#failure,
    };
  }

  /** @param at seconds since the epoch */
  #plan(at: number): void {
    if (this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    this.#nextAt = at;
    // A timer may fire before, if the time is long or the clock has jumped.
    this.#cancelTimer = clock.timer(Math.max(0, at - clock.now()), () => {
      if (clock.now() < at) this.#plan(at);
      else this.#run();
    });
  }

  #run(): void {
    this.#running = this.#make().finally(() => {
      this.#running = null;
    });
  }

  async #make(): Promise<void> {
    const { every, clock, log, make } = this.#options;
    try {
      const made = await make(this.#stopping.signal);
      this.#last = made;
      this.#failure = null;
      const { path, seconds, store, objects } = made;
      const about = { path, seconds, bytes: store.bytes + objects.bytes, lost: objects.lost.length };
      if (isWhole(made)) log.info(about, `backup ${path}`);
      else log.warn(about, `backup ${path}: something in it was damaged already; jq-server check tells what`);
      this.#plan((made.made_at ?? clock.now()) + every);
    } catch (fault) {
      if (this.#stopping.signal.aborted) return;
      const error = (fault as Error).message;
      this.#failure = { at: clock.now(), error };
      log.error({ why: error }, 'no backup was made');
      this.#plan(clock.now() + Math.min(every / 10, LONGEST_RETRY));
    }
  }
}
