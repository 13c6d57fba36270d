import { computed, signal } from '@preact/signals';
import type { Choosable } from '../past.ts';
import { act, type MachineEvent, type Snapshot, stateId } from './act.ts';

/** What came of an event that the copy was sent. */
export interface Outcome {
  sent: MachineEvent;
  taken: boolean;
  from: string;
  to: string;
  emitted: readonly MachineEvent[];
  before: Snapshot;
  after: Snapshot;
}

/** A copy of an actor in the page, which takes events by its real machine. No server hears of it. */
export class WhatIf {
  readonly kind: Choosable;
  readonly begin: Snapshot;
  readonly outcomes = signal<readonly Outcome[]>([]);
  /** Why the last event could not be sent. */
  readonly fault = signal<string | null>(null);
  readonly snapshot = computed(() => this.outcomes.value.at(-1)?.after ?? this.begin);
  readonly state = computed(() => stateId(this.kind, this.snapshot.value.value));

  constructor(kind: Choosable, begin: Snapshot) {
    this.kind = kind;
    this.begin = begin;
  }

  /** Where an event would lead; null where the machine finds fault with it. */
  preview(event: MachineEvent): Outcome | null {
    try {
      return this.#outcome(event);
    } catch {
      return null;
    }
  }

  /** @param text the event as JSON, its type left out */
  send(type: string, text: string): void {
    try {
      const members = JSON.parse(text.trim() === '' ? '{}' : text) as unknown;
      if (typeof members !== 'object' || members === null || Array.isArray(members))
        throw new Error('an event is a JSON object');
      this.outcomes.value = [...this.outcomes.peek(), this.#outcome({ ...members, type })];
      this.fault.value = null;
    } catch (error) {
      this.fault.value = `${type} cannot be sent: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  undo(): void {
    this.outcomes.value = this.outcomes.peek().slice(0, -1);
    this.fault.value = null;
  }

  #outcome(sent: MachineEvent): Outcome {
    const before = this.snapshot.peek();
    const { after, emitted, taken } = act(this.kind, before, sent);
    const [from, to] = [stateId(this.kind, before.value), stateId(this.kind, after.value)];
    return { sent, taken, from, to, emitted, before, after };
  }
}
