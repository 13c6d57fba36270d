import assert from 'node:assert/strict';
import type { AnyStateMachine, EventFromLogic, SnapshotFrom } from 'xstate';
import type { StatePath } from 'xstate/graph';
import type { JobContext } from '../../machines/job/job.ts';
import { Driven, nameOf } from './drive.ts';

/** One step that was driven: where it started, what was sent, where it led, what was emitted. */
export interface Step<C, E, M> {
  from: string;
  to: string;
  before: C;
  after: C;
  event: E;
  emitted: M[];
}

export const contextOf = (actor: { snapshot: unknown }) => (actor.snapshot as { context: unknown }).context;

/**
 * Walks each path with an actor of its own, and from its end every event of `further` once, so that all
 * reachable states and all events in them are met. Returns the number of steps.
 */
export function drive<M extends AnyStateMachine>(
  machine: M,
  initial: [state: string, context: unknown],
  paths: StatePath<SnapshotFrom<M>, EventFromLogic<M>>[],
  further: (snapshot: SnapshotFrom<M>) => EventFromLogic<M>[],
  check: (step: Step<never, never, never>) => void,
): number {
  let steps = 0;
  const walk = (events: EventFromLogic<M>[]) => {
    const actor = new Driven(machine, ...initial);
    for (const event of events) {
      const [from, before] = [actor.state, contextOf(actor)];
      const emitted = actor.send(event);
      check({ from, to: actor.state, before, after: contextOf(actor), event, emitted } as never);
      steps++;
    }
    return actor;
  };
  for (const path of paths) {
    const events = path.steps.map((step) => step.event).filter(({ type }) => !type.startsWith('xstate.'));
    const end = walk(events);
    assert.equal(end.state, nameOf((path.state as { value: unknown }).value), 'the path leads where it says');
    for (const event of further(end.snapshot)) walk([...events, event]);
  }
  return steps;
}

/** A machine that is broken may have ways without end. */
export const BOUNDED = { limit: 5000 };

export const status = (state: string) => state.split('.')[0] as string;

export const ended = ({ counts }: JobContext) => counts.succeeded + counts.failed + counts.cancelled;
