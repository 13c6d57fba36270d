import { Type } from 'typebox';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { EventSource } from '../../backend.ts';

/**
 * How many rows an answer holds, where the query does not say, and at most (docs/protocol.md#views-of-jobs-and-tasks,
 * docs/protocol.md#events).
 */
export const JOBS_LIMIT = { default: 100, max: 1000 };
export const EVENTS_LIMIT = { default: 500, max: 5000 };

/** The parameter `limit` of a list. */
export const limit = (of: { default: number; max: number }) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      default: of.default,
      description: `at most ${of.max}; larger values are clamped`,
    }),
  );
export const clamp = (value: number | undefined, of: { default: number; max: number }) =>
  Math.min(value ?? of.default, of.max);

export const AfterId = Type.Optional(Type.Integer({ minimum: 0, description: 'only events after this id' }));
/**
 * Whoever names an event that there has not been yet is told, and not left to wait for numbers that mean something else.
 * @throws ClusterError `unknown_id`
 */
export async function assertGiven(events: EventSource, afterId: number | undefined): Promise<void> {
  if (afterId === undefined || afterId <= events.lastId) return;
  const lastId = await events.latest();
  if (afterId <= lastId) return;
  const why = 'this server was put back to an older copy of its state, or is another one';
  throw new ClusterError(
    'unknown_id',
    `there is no event ${afterId} yet, the last one is ${lastId}: ${why}; begin without after_id`,
  );
}

export const BeforeId = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: 'the newest events before this id instead of the oldest; a way to read backwards',
  }),
);

/** Of lists that are whole without it. */
export const Limit = Type.Optional(
  Type.Integer({ minimum: 1, description: 'at most so many; without it, all' }),
);
export const Offset = Type.Optional(
  Type.Integer({ minimum: 0, default: 0, description: 'so many are passed over' }),
);

/** The credential of a WebSocket: browsers cannot send headers with it. */
export const Token = Type.Optional(Type.String());
