import type { LeasedTask } from '../../gateway/messages.ts';
import type { ClusterError } from '../../machines/errors.ts';
import type { Principal } from '../../machines/rights.ts';
import type { HeartbeatReply } from '../../machines/schema/worker.ts';
import type { Clock } from '../clock.ts';
import { Deadlines } from './deadlines.ts';
import { FOR_GOOD, type Journal } from './journal.ts';

/** A lease request that waits for work. */
export interface ParkedLease {
  ticket: string;
  /** Counts the requests in the order they came. */
  number: number;
  worker_id: string;
  /** Under which it was asked, if the worker names one. */
  session: number | undefined;
  principal: Principal;
  max_tasks: number;
  /** Monotonic second until which it waits. */
  until: number;
  /** Aborted when its client goes away. */
  signal: AbortSignal | undefined;
  /** @param handedOut called when the tasks have been read, or will not be */
  answer(tasks: LeasedTask[], handedOut?: () => void): void;
  refuse(error: ClusterError): void;
}

/** A heartbeat whose answer is held back until something has to be stopped. */
export interface ParkedHeartbeat {
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
export class Parking {
  readonly #leases = new Map<string, ParkedLease>();
  readonly #heartbeats = new Map<string, ParkedHeartbeat>();
  /** Leases of the turn that is being handled: it looks for work before the time of any of them can be over. */
  readonly #unmatched = new Set<ParkedLease>();
  readonly #timers: Deadlines<string>;
  #tickets = 0;

  constructor(clock: Clock) {
    this.#timers = new Deadlines(clock, (ticket) => {
      this.takeLease(FOR_GOOD, ticket)?.answer([]);
      this.#removeHeartbeat(ticket)?.answer({ ok: true, cancel_task_ids: [] });
    });
  }

  /** The leases that wait, longest first; of one worker or of all. */
  leases(workerId?: string): ParkedLease[] {
    const all = [...this.#leases.values()];
    return workerId === undefined ? all : all.filter((parked) => parked.worker_id === workerId);
  }

  heartbeatOf(workerId: string): ParkedHeartbeat | undefined {
    return this.#heartbeats.get(workerId);
  }

  parkLease(journal: Journal, lease: Omit<ParkedLease, 'ticket' | 'number'>): void {
    const number = ++this.#tickets;
    const parked = { ...lease, number, ticket: `lease:${number}` };
    this.#leases.set(parked.ticket, parked);
    journal.onRollback(() => this.takeLease(FOR_GOOD, parked.ticket));
    this.#unmatched.add(parked);
    this.#hearAbort(parked);
  }

  /** Parks a heartbeat; an older one of the same worker must have been taken out. */
  parkHeartbeat(journal: Journal, heartbeat: Omit<ParkedHeartbeat, 'ticket'>): void {
    const parked = { ...heartbeat, ticket: `heartbeat:${++this.#tickets}` };
    this.#heartbeats.set(parked.worker_id, parked);
    journal.onRollback(() => this.#removeHeartbeat(parked.ticket));
    this.#setTimer(parked);
    this.#hearAbort(parked);
  }

  /** Takes a lease out; undefined when it has been answered. */
  takeLease(journal: Journal, ticket: string): ParkedLease | undefined {
    const parked = this.#leases.get(ticket);
    if (!parked) return undefined;
    this.#leases.delete(ticket);
    this.#timers.delete(ticket);
    journal.onRollback(() => this.#returnLease(parked));
    return parked;
  }

  /** Takes the heartbeat of a worker out; undefined when it has none. */
  takeHeartbeat(journal: Journal, workerId: string): ParkedHeartbeat | undefined {
    const parked = this.#heartbeats.get(workerId);
    if (!parked) return undefined;
    this.#heartbeats.delete(workerId);
    this.#timers.delete(parked.ticket);
    journal.onRollback(() => this.#returnHeartbeat(parked));
    return parked;
  }

  /** Answers a worker's held-back heartbeat when there is something that it has to stop, and does not know of. */
  tellStop(workerId: string, toStop: readonly string[]): void {
    const stopping = this.#heartbeats.get(workerId)?.stopping;
    const cancel_task_ids = toStop.filter((task) => !stopping?.has(task));
    if (cancel_task_ids.length > 0)
      this.takeHeartbeat(FOR_GOOD, workerId)?.answer({ ok: true, cancel_task_ids });
  }

  /** The turn has looked for work: what it leaves waits until its time is over, which may be at once. */
  matched(): void {
    for (const parked of this.#unmatched) if (this.#leases.has(parked.ticket)) this.#setTimer(parked);
    this.#unmatched.clear();
  }

  /** Puts a lease that the turn took out in vain back to its place. */
  returnUnmatched(parked: ParkedLease): void {
    this.#putBack(parked);
    this.#unmatched.add(parked);
  }

  /** What was taken out is undone. */
  #returnLease(parked: ParkedLease): void {
    this.#putBack(parked);
    if (this.#leases.has(parked.ticket)) this.#setTimer(parked);
  }

  /** Before those that came later. */
  #putBack(parked: ParkedLease): void {
    if (parked.signal?.aborted) return;
    const later = [...this.#leases.values()].filter((other) => other.number > parked.number);
    this.#leases.set(parked.ticket, parked);
    for (const other of later) {
      this.#leases.delete(other.ticket);
      this.#leases.set(other.ticket, other);
    }
  }

  #returnHeartbeat(parked: ParkedHeartbeat): void {
    if (parked.signal?.aborted) return;
    this.#heartbeats.set(parked.worker_id, parked);
    this.#setTimer(parked);
  }

  /** Takes a heartbeat out for good. */
  #removeHeartbeat(ticket: string): ParkedHeartbeat | undefined {
    for (const [worker, parked] of this.#heartbeats) {
      if (parked.ticket === ticket) return this.takeHeartbeat(FOR_GOOD, worker);
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

  #hearAbort(parked: ParkedLease | ParkedHeartbeat): void {
    parked.signal?.addEventListener('abort', () => {
      this.takeLease(FOR_GOOD, parked.ticket);
      this.#removeHeartbeat(parked.ticket);
    });
  }

  #setTimer({ ticket, until }: ParkedLease | ParkedHeartbeat): void {
    this.#timers.set(ticket, until);
  }
}
