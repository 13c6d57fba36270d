import type { LeasedTask } from '../../../gateway/messages.ts';
import type { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import type { HeartbeatReply } from '../../../machines/schema/worker.ts';
import type { Clock } from '../../shared/clock.ts';
import { Deadlines } from '../runtime/deadlines.ts';
import { FOR_GOOD, type Journal } from '../turn/journal.ts';

/** A lease request that waits for work. */
export interface WaitingLease {
  ticket: string;
  /** Counts the requests in the order they came. */
  number: number;
  worker_id: string;
  /** Under which it was asked, if the worker names one. */
  session: number | undefined;
  principal: Principal;
  max_tasks: number;
  /** Seconds since the epoch. */
  askedAt: number;
  /** Monotonic second until which it waits. */
  until: number;
  /** Aborted when its client goes away. */
  signal: AbortSignal | undefined;
  /** @param handedOut called when the tasks have been read, or will not be */
  answer(tasks: LeasedTask[], handedOut?: () => void): void;
  refuse(error: ClusterError): void;
}

/** A heartbeat whose answer is held back until something has to be stopped. */
export interface HeldHeartbeat {
  ticket: string;
  worker_id: string;
  session: number | undefined;
  /** Monotonic second until which it is held back. */
  until: number;
  signal: AbortSignal | undefined;
  /** Task ids that the worker is stopping already. */
  stopping: ReadonlySet<string>;
  answer(reply: HeartbeatReply): void;
  refuse(error: ClusterError): void;
}

/**
 * The requests that wait, longest first. Each is answered once: by work, by time, or not at all when its
 * client goes away.
 */
export class LongPolls {
  readonly #leases = new Map<string, WaitingLease>();
  readonly #heartbeats = new Map<string, HeldHeartbeat>();
  /** Leases of the turn that is being handled: it looks for work before the time of any of them can be over. */
  readonly #unmatched = new Set<WaitingLease>();
  readonly #timers: Deadlines<string>;
  #tickets = 0;

  constructor(clock: Clock) {
    this.#timers = new Deadlines(clock, (ticket) => {
      this.takeLease(FOR_GOOD, ticket)?.answer([]);
      this.#removeHeartbeat(ticket)?.answer({ ok: true, cancel_task_ids: [] });
    });
  }

  /** The leases that wait, longest first; of one worker or of all. */
  leases(workerId?: string): WaitingLease[] {
    const all = [...this.#leases.values()];
    return workerId === undefined ? all : all.filter((waiting) => waiting.worker_id === workerId);
  }

  heartbeatOf(workerId: string): HeldHeartbeat | undefined {
    return this.#heartbeats.get(workerId);
  }

  addLease(journal: Journal, lease: Omit<WaitingLease, 'ticket' | 'number'>): void {
    const number = ++this.#tickets;
    const waiting = { ...lease, number, ticket: `lease:${number}` };
    this.#leases.set(waiting.ticket, waiting);
    journal.onRollback(() => this.takeLease(FOR_GOOD, waiting.ticket));
    this.#unmatched.add(waiting);
    this.#onAbort(waiting);
  }

  /** Holds a heartbeat; an older one of the same worker must have been taken out. */
  addHeartbeat(journal: Journal, heartbeat: Omit<HeldHeartbeat, 'ticket'>): void {
    const waiting = { ...heartbeat, ticket: `heartbeat:${++this.#tickets}` };
    this.#heartbeats.set(waiting.worker_id, waiting);
    journal.onRollback(() => this.#removeHeartbeat(waiting.ticket));
    this.#setTimer(waiting);
    this.#onAbort(waiting);
  }

  /** Takes a lease out; undefined when it has been answered. */
  takeLease(journal: Journal, ticket: string): WaitingLease | undefined {
    const waiting = this.#leases.get(ticket);
    if (!waiting) return undefined;
    this.#leases.delete(ticket);
    this.#timers.delete(ticket);
    journal.onRollback(() => this.#returnLease(waiting));
    return waiting;
  }

  /** Takes the heartbeat of a worker out; undefined when it has none. */
  takeHeartbeat(journal: Journal, workerId: string): HeldHeartbeat | undefined {
    const waiting = this.#heartbeats.get(workerId);
    if (!waiting) return undefined;
    this.#heartbeats.delete(workerId);
    this.#timers.delete(waiting.ticket);
    journal.onRollback(() => this.#returnHeartbeat(waiting));
    return waiting;
  }

  /** Answers a worker's held-back heartbeat when there is something that it has to stop, and does not know of. */
  answerStop(workerId: string, toStop: readonly string[]): void {
    const stopping = this.#heartbeats.get(workerId)?.stopping;
    const cancel_task_ids = toStop.filter((task) => !stopping?.has(task));
    if (cancel_task_ids.length > 0)
      this.takeHeartbeat(FOR_GOOD, workerId)?.answer({ ok: true, cancel_task_ids });
  }

  /** The turn has looked for work: what it leaves waits until its time is over, which may be at once. */
  matched(): void {
    for (const waiting of this.#unmatched) if (this.#leases.has(waiting.ticket)) this.#setTimer(waiting);
    this.#unmatched.clear();
  }

  /** Puts a lease back to its place that the turn took out without finding work. */
  returnUnmatched(waiting: WaitingLease): void {
    this.#putBack(waiting);
    this.#unmatched.add(waiting);
  }

  /** What was taken out is undone. */
  #returnLease(waiting: WaitingLease): void {
    this.#putBack(waiting);
    if (this.#leases.has(waiting.ticket)) this.#setTimer(waiting);
  }

  /** Before those that came later. */
  #putBack(waiting: WaitingLease): void {
    if (waiting.signal?.aborted) return;
    const later = [...this.#leases.values()].filter((other) => other.number > waiting.number);
    this.#leases.set(waiting.ticket, waiting);
    for (const other of later) {
      this.#leases.delete(other.ticket);
      this.#leases.set(other.ticket, other);
    }
  }

  #returnHeartbeat(waiting: HeldHeartbeat): void {
    if (waiting.signal?.aborted) return;
    this.#heartbeats.set(waiting.worker_id, waiting);
    this.#setTimer(waiting);
  }

  /** Takes a heartbeat out for good. */
  #removeHeartbeat(ticket: string): HeldHeartbeat | undefined {
    for (const [worker, waiting] of this.#heartbeats) {
      if (waiting.ticket === ticket) return this.takeHeartbeat(FOR_GOOD, worker);
    }
    return undefined;
  }

  /** Answers everybody who waits: the server is going down. */
  releaseAll(): void {
    for (const ticket of [...this.#leases.keys()]) this.takeLease(FOR_GOOD, ticket)?.answer([]);
    for (const worker of [...this.#heartbeats.keys()]) {
      this.takeHeartbeat(FOR_GOOD, worker)?.answer({ ok: true, cancel_task_ids: [] });
    }
  }

  stop(): void {
    this.releaseAll();
    this.#timers.stop();
  }

  #onAbort(waiting: WaitingLease | HeldHeartbeat): void {
    waiting.signal?.addEventListener('abort', () => {
      this.takeLease(FOR_GOOD, waiting.ticket);
      this.#removeHeartbeat(waiting.ticket);
    });
  }

  #setTimer({ ticket, until }: WaitingLease | HeldHeartbeat): void {
    this.#timers.set(ticket, until);
  }
}
