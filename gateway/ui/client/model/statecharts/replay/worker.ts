import type { EventView } from '../../../../../../machines/schema/views.ts';
import { act, type Context, type MachineEvent, type Snapshot, stateId } from './act.ts';
import { type Message, Unexplained } from './world.ts';

/** What a worker is sent where this is recorded of it. */
const SENT: Readonly<Record<string, (event: EventView) => MachineEvent>> = {
  worker_registered: ({ data }) => ({ type: 'REGISTER', slots_total: data.slots_total }),
  worker_dead: () => ({ type: 'HEARTBEAT_MISSED' }),
  worker_alive: () => ({ type: 'HEARTBEAT' }),
  worker_suspended: ({ data }) => ({ type: 'SUSPEND', reason: data.reason }),
  worker_resumed: () => ({ type: 'RESUME' }),
  worker_draining: () => ({ type: 'DRAIN' }),
  worker_stopped: () => ({ type: 'STOP' }),
  worker_drain_ordered: ({ data, ts }) => ({
    type: 'DRAIN_ORDERED',
    order: { by: data.principal, at: ts, takes_back_at: data.takes_back_at },
  }),
  worker_drain_lifted: () => ({ type: 'DRAIN_LIFTED' }),
  worker_removed: () => ({ type: 'REMOVE' }),
};

/** Whether a task ends here to be held by the worker that its event names. */
function isRelease({ type, task_id, ts, data }: EventView, before: EventView | undefined): boolean {
  if (type === 'task_requeued') return ['undelivered', 'taken_back', 'preempted'].includes(`${data.reason}`);
  // One that was lost and is not tried again is told twice.
  if (type === 'task_failed')
    return !(before?.type === 'task_lost' && before.task_id === task_id && before.ts === ts);
  return type === 'task_completed' || type === 'task_lost' || type === 'task_cancelled';
}

/** What a worker was sent at each of its recorded events, the oldest first. */
function sentTo(events: readonly EventView[]): { event: EventView; sent: MachineEvent }[] {
  return events.flatMap((event, i) => {
    const make = Object.hasOwn(SENT, event.type) ? SENT[event.type] : undefined;
    if (make) return [{ event, sent: make(event) }];
    if (event.type === 'task_leased') return [{ event, sent: { type: 'TASK_TAKEN' } }];
    return isRelease(event, events[i - 1]) ? [{ event, sent: { type: 'TASK_RELEASED' } }] : [];
  });
}

/**
 * A worker, made to happen again by its machine since the first of its registrations that is known. How many tasks it
 * had then follows from how many it has now.
 */
export class WorkerWorld {
  readonly messages: Message[] = [];
  readonly fault: Unexplained | null;

  /** @param complete whether the first of the events is its first at all */
  constructor(id: string, events: readonly EventView[], now: Context, complete: boolean) {
    this.fault = this.#replay(id, events, now, complete);
  }

  #replay(id: string, events: readonly EventView[], now: Context, complete: boolean): Unexplained | null {
    const all = sentTo(events);
    const first = all.findIndex(({ sent }) => sent.type === 'REGISTER');
    const ordered = all.some(({ sent }) => sent.type.startsWith('DRAIN_'));
    // An order outlasts registrations: whether there was one before is known of the whole past, or where none came since.
    if (first < 0 || (ordered && !complete)) return null;
    const sent = all.slice(first);
    const gain = sent.reduce(
      (sum, { sent: { type } }) => sum + Number(type === 'TASK_TAKEN') - Number(type === 'TASK_RELEASED'),
      0,
    );
    const context = {
      ...now,
      slots_used: Number(now.slots_used) - gain,
      suspended: null,
      leaving: null,
      ...(ordered && { drained: null }),
    };
    let worker: Snapshot = { value: { alive: 'idle' }, context };
    for (const { event, sent: told } of sent) {
      const { after, taken } = act('worker', worker, told);
      if (!taken && told.type !== 'REGISTER') return new Unexplained(event);
      const isFirst = this.messages.length === 0;
      this.messages.push({
        event,
        from:
          event.task_id === null
            ? { kind: 'supervisor', id: 'supervisor' }
            : { kind: 'task', id: event.task_id },
        to: { kind: 'worker', id },
        sent: told,
        silent: false,
        states: [isFirst ? '' : stateId('worker', worker.value), stateId('worker', after.value)],
        before: isFirst ? null : worker.context,
        after: after.context,
      });
      worker = after;
    }
    return null;
  }
}
