import {
  type AnyStateMachine,
  createActor,
  type EmittedFrom,
  type EventFromLogic,
  type SnapshotFrom,
} from 'xstate';

/** A state value as text: `running.executing`. */
export function nameOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const [[parent, child] = ['', '']] = Object.entries(value as Record<string, unknown>);
  return `${parent}.${nameOf(child)}`;
}

/** The state value of one word. */
export function stateValue(name: string): unknown {
  const [parent = '', ...below] = name.split('.');
  return below.length === 0 ? parent : { [parent]: stateValue(below.join('.')) };
}

/** An actor of the machine, started in the given state, that remembers what it emits. */
export class Driven<M extends AnyStateMachine> {
  readonly #actor: ReturnType<typeof createActor<M>>;
  #emitted: EmittedFrom<M>[] = [];

  constructor(machine: M, state: string, context: unknown) {
    const snapshot = machine.resolveState({ value: stateValue(state), context } as never);
    this.#actor = createActor(machine, { snapshot } as never);
    this.#actor.on('*', (emission) => this.#emitted.push(emission as EmittedFrom<M>));
    this.#actor.start();
  }

  get snapshot(): SnapshotFrom<M> {
    return this.#actor.getSnapshot();
  }

  get state(): string {
    return nameOf((this.snapshot as { value: unknown }).value);
  }

  /** Sends an event and returns what was emitted for it, in order. */
  send(event: EventFromLogic<M>): EmittedFrom<M>[] {
    this.#emitted = [];
    this.#actor.send(event);
    return this.#emitted;
  }

  /** Sends several events and returns the last one's emissions. */
  sendAll(...events: EventFromLogic<M>[]): EmittedFrom<M>[] {
    let emitted: EmittedFrom<M>[] = [];
    for (const event of events) emitted = this.send(event);
    return emitted;
  }
}
