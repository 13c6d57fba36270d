import { LRUCache } from 'lru-cache';
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import type { Inspected } from '../../../gateway/backend.ts';
import { machineJson } from '../../../machines/charts/config.ts';
import { INSPECTION_VERSION, type InspectionMessage } from '../../../machines/schema/inspection.ts';

/** What a recording looks at of an actor. */
export interface Inspectable {
  readonly id: string;
  readonly machine: AnyStateMachine;
  readonly snapshot: AnyMachineSnapshot;
}

type Listener = (messages: readonly Inspected[]) => void;

interface Watcher {
  actorId: string | undefined;
  listener: Listener;
  /** Actors that were announced to it already; the oldest are forgotten, and then announced anew. */
  announced: LRUCache<string, true>;
}

/** The id of the supervisor's own actor. */
export const SUPERVISOR = 'supervisor';
const MOST_REMEMBERED = 10_000;
/** Characters of a text that are shown; results and tracebacks may be long, and people read this. */
const LONGEST_TEXT = 2000;

/**
 * Who watches, and what they are told. While nobody does, `begin` gives null and that is all the work there is.
 * What a turn does is gathered as references, told after its commit, and made into text only when a watcher
 * takes it. No credential comes near it: the supervisor knows principals by their names alone.
 */
export class Inspection {
  readonly #watchers = new Set<Watcher>();

  /** A recording of what follows; null while nobody watches. @param now seconds since the epoch */
  begin(now: number): Recording | null {
    if (this.#watchers.size === 0) return null;
    const scopes = [...this.#watchers].map(({ actorId }) => actorId);
    return new Recording(now, scopes.includes(undefined) ? null : new Set(scopes as string[]));
  }

  /** Takes up a watcher with the actors as they are; returns the way to stop. */
  watch(
    actorId: string | undefined,
    listener: Listener,
    present: Iterable<Inspectable>,
    now: number,
  ): () => void {
    const watcher = { actorId, listener, announced: new LRUCache<string, true>({ max: MOST_REMEMBERED }) };
    this.#watchers.add(watcher);
    const recording = new Recording(now, null);
    for (const actor of present) recording.actor(actor);
    listener(wantedBy(watcher, recording));
    return () => void this.#watchers.delete(watcher);
  }

  /** Hands a recording to everybody whom it concerns. */
  publish(recording: Recording): void {
    for (const watcher of [...this.#watchers]) {
      const wanted = wantedBy(watcher, recording);
      if (wanted.length > 0) watcher.listener(wanted);
    }
  }
}

function wantedBy({ actorId, announced }: Watcher, { messages }: Recording): Message[] {
  return messages.filter((message) => {
    if (actorId !== undefined && message.actorId !== actorId) return false;
    if (message.kind === 'actor' && announced.has(message.actorId)) return false;
    if (message.kind === 'actor') announced.set(message.actorId, true);
    return true;
  });
}

/** What happened between two commits, in order. */
export class Recording {
  readonly messages: Message[] = [];
  readonly #createdAt: string;
  /** The only actors that somebody watches; null for all. */
  readonly #scope: ReadonlySet<string> | null;
  readonly #announced = new Set<string>();

  constructor(now: number, scope: ReadonlySet<string> | null) {
    this.#createdAt = String(Math.round(now * 1000));
    this.#scope = scope;
  }

  wants(actorId: string): boolean {
    return this.#scope === null || this.#scope.has(actorId);
  }

  /** An actor came into motion. */
  actor({ id, machine, snapshot }: Inspectable): void {
    if (!this.wants(id) || this.#announced.has(id)) return;
    this.#announced.add(id);
    this.#add('actor', id, () => ({
      type: '@xstate.actor',
      name: id,
      ...this.#common(id),
      definition: definitionOf(machine),
      snapshot: snapshot as never,
    }));
  }

  /** An event was sent to an actor, and this is where it stands now. */
  event(actor: Inspectable, event: { type: string }, sourceId: string): void {
    if (!this.wants(actor.id)) return;
    const { id, snapshot } = actor;
    this.#add('event', id, () => ({ type: '@xstate.event', ...this.#common(id), sourceId, event }));
    this.#add('snapshot', id, () => ({
      type: '@xstate.snapshot',
      ...this.#common(id),
      event,
      snapshot: snapshot as never,
    }));
  }

  #add(kind: Message['kind'], actorId: string, make: () => InspectionMessage): void {
    this.messages.push(new Message(kind, actorId, make));
  }

  #common(id: string) {
    return {
      sessionId: id,
      rootId: id,
      createdAt: this.#createdAt,
      id: null,
      _version: INSPECTION_VERSION,
    };
  }
}

/** Its text is made when somebody first asks for it, once for all who watch. */
class Message implements Inspected {
  readonly kind: 'actor' | 'event' | 'snapshot';
  readonly actorId: string;
  readonly #make: () => InspectionMessage;
  #text: string | undefined;

  constructor(kind: Message['kind'], actorId: string, make: () => InspectionMessage) {
    this.kind = kind;
    this.actorId = actorId;
    this.#make = make;
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.#make(), shortened);
    return this.#text;
  }
}

const definitions = new WeakMap<AnyStateMachine, string>();

function definitionOf(machine: AnyStateMachine): string {
  const text = definitions.get(machine) ?? JSON.stringify(machineJson(machine));
  definitions.set(machine, text);
  return text;
}

function shortened(key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= LONGEST_TEXT || key === 'definition') return value;
  return `${value.slice(0, LONGEST_TEXT)}… (${value.length - LONGEST_TEXT} more characters)`;
}
