import type { EventView } from '../../../../../../machines/schema/views.ts';
import { type Choosable, pathOf, type Way } from '../past.ts';
import type { Context, MachineEvent } from './act.ts';
import type { Message } from './world.ts';

/** Something that happened to an actor. */
export interface Step {
  /** Of those recorded, the last that tells of it. */
  event: EventView;
  /** What it was sent; null where only what came of it is known. */
  sent: MachineEvent | null;
  /** It left no event of its own. */
  silent: boolean;
  /** Null where what came before is not known. */
  from: string | null;
  to: string;
  /** From state to state, also through those that it left at once. */
  ways: readonly Way[];
  before: Context | null;
  after: Context | null;
}

/** The steps of one actor among the messages of a world. */
export function stepsOf(messages: readonly Message[], id: string): Step[] {
  return messages.flatMap(({ event, to, sent, silent, states, before, after }) => {
    const last = states.at(-1);
    if (to.id !== id || last === undefined) return [];
    const from = states[0] === '' ? null : (states[0] ?? null);
    const ways = states.slice(1).map((state, i) => ({
      from: states[i] === '' ? null : (states[i] ?? null),
      to: state,
      by: sent.type.split(/, | or /),
    }));
    return [
      { event, sent, silent, from, to: last, ways: ways.filter((way) => way.from !== way.to), before, after },
    ];
  });
}

/** The steps as the events alone tell them: where an actor came to, but not what it knew. */
export function recordedSteps(kind: Choosable, events: readonly EventView[], complete: boolean): Step[] {
  return pathOf(kind, events, complete).map(({ event, from, to }) => ({
    ...{ event, from, to, sent: null, silent: false, before: null, after: null },
    ways: [{ from, to }],
  }));
}

/** The members of a context that differ, or are new. */
export function changesBetween(before: Context | null, after: Context | null): string[] {
  if (!before || !after) return [];
  const text = (value: unknown) => JSON.stringify(value, (_, one) => (one === undefined ? '?' : one)) ?? '?';
  return Object.keys({ ...before, ...after }).filter((name) => text(before[name]) !== text(after[name]));
}
