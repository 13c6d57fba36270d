import { tail } from '../../text/format.ts';
import type { Message, Party } from './replay/world.ts';

/** A lifeline of the sequence. */
export interface Lifeline extends Party {
  label: string;
}

export interface Sequence {
  lifelines: Lifeline[];
  /** With the places of who sends and who is sent to. */
  rows: { message: Message; from: number; to: number }[];
}

const ORDER: readonly Party['kind'][] = ['client', 'supervisor', 'job', 'task', 'worker'];

/** Who sends to whom, in order; only those who do. */
export function sequenceOf(messages: readonly Message[]): Sequence {
  const parties = new Map<string, Lifeline>();
  const keyOf = ({ kind, id }: Party) => `${kind} ${id}`;
  for (const { from, to } of messages)
    for (const party of [from, to])
      if (!parties.has(keyOf(party))) parties.set(keyOf(party), { ...party, label: labelOf(party) });
  const lifelines = [...parties.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const places = new Map(lifelines.map((line, i) => [keyOf(line), i]));
  const placeOf = (party: Party) => places.get(keyOf(party)) ?? 0;
  return {
    lifelines,
    rows: messages.map((message) => ({ message, from: placeOf(message.from), to: placeOf(message.to) })),
  };
}

const labelOf = ({ kind, id }: Party): string =>
  kind === 'client' || kind === 'supervisor' ? kind : `${kind} ${tail(id)}`;
