import type { LeasedTask } from '../../gateway/messages.ts';
import type { ClusterError } from '../../machines/errors.ts';
import type { Principal } from '../../machines/rights.ts';
import type { HeartbeatReply } from '../../machines/schema/worker.ts';
import type { Clock } from '../clock.ts';
import { Deadlines } from './deadlines.ts';

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
  answer(tasks: LeasedTask[]): void;
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
  readonly leases = new Map<string, ParkedLease>();
  readonly heartbeats = new Map<string, ParkedHeartbeat>();
  readonly #clock: Clock;
  readonly #timers: Deadlines<string>;
  #tickets = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timers = new Deadlines(clock, (ticket) => {
      this.removeLease(ticket)?.answer([]);
      this.removeHeartbeat(ticket)?.answer({ ok: true, cancel_task_ids: [] });
    });
  }

  parkLease(lease: Omit<ParkedLease, 'ticket' | 'number'>): ParkedLease {
    const number = ++this.#tickets;
    const parked = { ...lease, number, ticket: `lease:${number}` };
    this.leases.set(parked.ticket, parked);
    this.#wait(parked);
    return parked;
  }

  /** Parks a heartbeat; an older one of the same worker is released. */
  parkHeartbeat(heartbeat: Omit<ParkedHeartbeat, 'ticket'>): void {
    this.releaseHeartbeat(heartbeat.worker_id);
    const parked = { ...heartbeat, ticket: `heartbeat:${++this.#tickets}` };
    this.heartbeats.set(parked.worker_id, parked);
    this.#wait(parked);
  }

  /** Takes a lease out; undefined when it has been answered. */
  removeLease(ticket: string): ParkedLease | undefined {
    const parked = this.leases.get(ticket);
    this.leases.delete(ticket);
    if (parked) this.#timers.delete(ticket);
    return parked;
  }

  /** Answers the leases of a worker that wants none any more. */
  withdrawLeases(workerId: string): void {
    for (const { ticket, worker_id } of [...this.leases.values()]) {
      if (worker_id === workerId) this.removeLease(ticket)?.answer([]);
    }
  }

  /** Puts a lease that was taken out in vain back to its place: before those that came later. */
  returnLease(parked: ParkedLease): void {
    if (parked.signal?.aborted) return;
    const later = [...this.leases.values()].filter((other) => other.number > parked.number);
    this.leases.set(parked.ticket, parked);
    for (const other of later) {
      this.leases.delete(other.ticket);
      this.leases.set(other.ticket, other);
    }
    this.#setTimer(parked);
  }

  /** Puts a heartbeat that was taken out in vain back, unless a newer one waits. */
  returnHeartbeat(parked: ParkedHeartbeat): void {
    if (parked.signal?.aborted || this.heartbeats.has(parked.worker_id)) return;
    this.heartbeats.set(parked.worker_id, parked);
    this.#setTimer(parked);
  }

  removeHeartbeat(ticket: string): ParkedHeartbeat | undefined {
    for (const [worker, parked] of this.heartbeats) {
      if (parked.ticket !== ticket) continue;
      this.heartbeats.delete(worker);
      this.#timers.delete(ticket);
      return parked;
    }
    return undefined;
  }

  releaseHeartbeat(workerId: string, cancel: string[] = []): void {
    const parked = this.heartbeats.get(workerId);
    if (!parked) return;
    this.heartbeats.delete(workerId);
    this.#timers.delete(parked.ticket);
    parked.answer({ ok: true, cancel_task_ids: cancel });
  }

  /** Answers everybody who waits: the server is going down. */
  releaseAll(): void {
    for (const ticket of [...this.leases.keys()]) this.removeLease(ticket)?.answer([]);
    for (const worker of [...this.heartbeats.keys()]) this.releaseHeartbeat(worker);
  }

  stop(): void {
    this.releaseAll();
    this.#timers.stop();
  }

  #wait(parked: ParkedLease | ParkedHeartbeat): void {
    this.#setTimer(parked);
    parked.signal?.addEventListener('abort', () => {
      this.removeLease(parked.ticket);
      this.removeHeartbeat(parked.ticket);
    });
  }

  #setTimer({ ticket, until }: ParkedLease | ParkedHeartbeat): void {
    this.#timers.set(ticket, Math.max(0, until - this.#clock.monotonic()));
  }
}
