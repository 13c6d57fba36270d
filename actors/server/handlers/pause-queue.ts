import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { PauseScope } from '../scheduling/gates.ts';
import type { PauseRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';
import type { Handler } from './handler.ts';

const words = ({ kind, name }: PauseScope): string => (kind === 'all' ? 'the queue' : `${kind} ${name}`);

/** What is written of a scope is what the turn did last. */
function change(turn: Turn, { kind, name }: PauseScope, row: PauseRow | null): void {
  const { pauses, liftedPauses } = turn;
  for (const list of [pauses, liftedPauses]) {
    const at = list.findIndex((other) => other.kind === kind && other.name === name);
    if (at >= 0) list.splice(at, 1);
  }
  if (row !== null) pauses.push(row);
  else liftedPauses.push({ kind, name });
}

/** Nothing more is leased of the queue, a type or an owner; what runs goes on. */
export const pauseQueue: Handler<'pause_queue'> = {
  handle({ principal, kind, name }, { turn }) {
    const { gates } = turn.core.queue;
    if (!gates.isPaused({ kind, name })) {
      const row = { kind, name, by: principal.name, at: turn.now };
      gates.pause(turn, row);
      change(turn, row, row);
      turn.event(
        {},
        {
          level: 'warning',
          type: 'queue_paused',
          message: `${words(row)} is paused by ${principal.name}`,
          data: { principal: principal.name, kind, name },
        },
      );
    }
    return { paused: gates.pauses() };
  },
};

export const resumeQueue: Handler<'resume_queue'> = {
  handle({ principal, kind, name }, { turn }) {
    const { gates } = turn.core.queue;
    if (!gates.resume(turn, { kind, name }))
      throw new ClusterError('illegal_transition', `${words({ kind, name })} is not paused`);
    change(turn, { kind, name }, null);
    turn.hasQueued = true;
    turn.event(
      {},
      {
        level: 'info',
        type: 'queue_resumed',
        message: `${words({ kind, name })} is resumed by ${principal.name}`,
        data: { principal: principal.name, kind, name },
      },
    );
    return { paused: gates.pauses() };
  },
};
