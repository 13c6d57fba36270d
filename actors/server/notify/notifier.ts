import type { Logger } from 'pino';
import { createActor } from 'xstate';
import type { EventSource } from '../../../gateway/backend.ts';
import { LONGEST_WAIT, notificationMachine } from '../../../machines/notification.ts';
import { ENDED_STATUSES } from '../../../machines/schema/statuses.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Random } from '../../shared/ids.ts';
import type { NotificationRow } from '../store/rows.ts';
import { sql } from '../store/sql.ts';
import { amongNumbers, each, member } from '../store/sql-words.ts';
import type { Store } from '../store/store.ts';
import { NOTIFICATIONS } from '../store/tables.ts';
import type { Turn } from '../turn/turn.ts';
import { post, type Receiver } from './post.ts';

/** Requests under way at once; what becomes of them is written together. */
const AT_ONCE = 8;
/** Seconds until the store is tried again that could not be read or written. */
const AGAIN = 5;
/** Seconds that requests under way may take when the server stops. */
const LAST = 2;

/** What the notifier works with. */
export interface Notifying {
  readonly receiver: Receiver;
  readonly store: Pick<Store, 'load' | 'queries'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Does something in a turn of its own; resolves once that is durable. */
  alone(work: (turn: Turn) => Promise<void>): Promise<void>;
}

type Tried = { row: NotificationRow; state: 'delivered' | 'given_up' | 'waiting' };

const ENDS = new Set(ENDED_STATUSES.map((status) => `job_${status}`));

/**
 * Tells the receiver of the ends of jobs, as the store has them, beside the server's work. A notification is written in
 * the turn in which its job ends, and is there until the turn is durable in which it was found that it has arrived, or
 * that it is given up. So none is lost, and none is sent before its commit.
 */
export class Notifier {
  /** Since the start. */
  readonly counts = { delivered: 0, failed: 0, given_up: 0 };
  readonly #work: Notifying;
  readonly #stopping = new AbortController();
  readonly #unsubscribe: () => void;
  #cancelTimer: () => void = () => {};
  #running: Promise<void> | null = null;
  /** Whether there may be more than the present look has seen. */
  #isMore = false;
  #stopped = false;
  /** Whether the last try failed, so that the log has a line for it. */
  #isFailing = false;

  constructor(work: Notifying, events: EventSource) {
    this.#work = work;
    this.#unsubscribe = events.subscribe((committed) => {
      if (committed.some(({ type, task_id }) => task_id === null && ENDS.has(type))) this.#wake();
    });
  }

  /** Goes on with what an earlier server left. */
  start(): void {
    this.#wake();
  }

  /** Waits a moment for requests under way; who did not answer by then is asked anew by the next server. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelTimer();
    const cancel = this.#work.clock.timer(LAST, () => this.#stopping.abort());
    await this.#running;
    cancel();
  }

  #wake(): void {
    this.#isMore = true;
    if (this.#stopped || this.#running) return;
    this.#cancelTimer();
    this.#running = this.#run().then((isRead) => {
      this.#running = null;
      // What was told behind the last look.
      if (isRead && this.#isMore) this.#wake();
    });
  }

  #wakeIn(seconds: number): void {
    if (!this.#stopped) this.#cancelTimer = this.#work.clock.timer(seconds, () => this.#wake());
  }

  /** @returns whether the store could be read */
  async #run(): Promise<boolean> {
    try {
      while (this.#isMore && !this.#stopped) {
        this.#isMore = false;
        for (let due = await this.#due(); due.length > 0 && !this.#stopped; due = await this.#due())
          await this.#write(await Promise.all(due.map((row) => this.#try(row))));
      }
      const next = await this.#work.store.queries.get<{ at: number | null }>(
        'SELECT min(next_at) AS at FROM notifications',
      );
      if (next && next.at !== null)
        this.#wakeIn(Math.min(LONGEST_WAIT, Math.max(0, next.at - this.#work.clock.now())));
      return true;
    } catch (error) {
      if (this.#stopped) return false;
      this.#work.log.warn({ err: error }, 'notifications cannot be read from the store at the moment');
      this.#wakeIn(AGAIN);
      return false;
    }
  }

  /** Those whose time has come; also where the clock was set back, since none waits that long. */
  #due(): Promise<NotificationRow[]> {
    const now = this.#work.clock.now();
    const due = `next_at <= ? OR next_at > ? ORDER BY next_at, id LIMIT ${AT_ONCE}`;
    return this.#work.store.load(NOTIFICATIONS, due, now, now + 2 * LONGEST_WAIT);
  }

  async #try(row: NotificationRow): Promise<Tried> {
    const { receiver, clock, random } = this.#work;
    const actor = createActor(notificationMachine, { input: row }).start();
    actor.send({ type: 'SEND' });
    const message = {
      id: `${row.job_id}-${row.id}`,
      timestamp: Math.floor(clock.now()),
      body: row.body,
    };
    const error = await post(receiver, message, clock, this.#stopping.signal);
    if (error === null) actor.send({ type: 'ACCEPTED' });
    else if (!this.#stopping.signal.aborted)
      actor.send({ type: 'REFUSED', error, now: clock.now(), spread: (random(1)[0] ?? 0) / 255 });
    const { value, context } = actor.getSnapshot();
    // What was broken off has not been tried.
    return { row: { ...row, ...context }, state: value === 'sending' ? 'waiting' : value };
  }

  /** As long as it cannot be written nothing else is sent: the receiver would get the same again and again. */
  async #write(tried: readonly Tried[]): Promise<void> {
    const isOver = ({ state }: Tried) => state !== 'waiting';
    const over = JSON.stringify(tried.filter(isOver).map(({ row }) => row.id));
    const waiting = JSON.stringify(tried.filter((one) => !isOver(one)).map(({ row }) => row));
    for (;;) {
      try {
        await this.#work.alone(async (turn) => {
          turn.further.push(
            { sql: sql`DELETE FROM notifications WHERE id ${amongNumbers()}`, params: [over] },
            {
              sql: sql`UPDATE notifications SET attempts = ${member('v.value', 'attempts', 'bigint')},
                  error = ${member('v.value', 'error')}, next_at = ${member('v.value', 'next_at', 'double precision')}
                FROM ${each('?', 'text', 'v')} WHERE notifications.id = ${member('v.value', 'id', 'bigint')}`,
              params: [waiting],
            },
          );
        });
        break;
      } catch (error) {
        if (this.#stopped) throw error;
        await new Promise<void>((resolve) => {
          this.#work.clock.timer(AGAIN, resolve);
          this.#stopping.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    }
    for (const one of tried) this.#tell(one);
  }

  #tell({ row, state }: Tried): void {
    const { log, receiver } = this.#work;
    const { id, job_id, attempts, error: why } = row;
    // Its path may be a secret, as with chats.
    const to = new URL(receiver.url).origin;
    if (state === 'delivered') {
      this.counts.delivered++;
      if (this.#isFailing) log.info({ to }, 'notifications arrive again');
      this.#isFailing = false;
      return;
    }
    this.counts.failed++;
    if (state === 'given_up') {
      this.counts.given_up++;
      log.error(
        { to, job_id, event_id: id, attempts, why },
        `nobody is told any more that job ${job_id} ended: ${why}`,
      );
    } else if (!this.#isFailing)
      log.warn({ to, job_id, attempts, why }, `a notification did not arrive, and is tried again: ${why}`);
    this.#isFailing = true;
  }
}
