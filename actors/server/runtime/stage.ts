import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createEmptyActor,
  type EmittedFrom,
  type EventFromLogic,
  type SnapshotFrom,
} from 'xstate';

/** What an event did: where the actor stands now, and what it emitted, in order. */
export interface Step<M extends AnyStateMachine> {
  readonly after: SnapshotFrom<M>;
  readonly emitted: EmittedFrom<M>[];
}

/**
 * Where the actors of a kind act, one event after the other. XState's logic decides what follows from an event; an
 * XState actor for each cell would bring a mailbox, a system and listeners of its own, which a turn has already,
 * and takes as much memory and time as the step itself.
 */
export class Stage<M extends AnyStateMachine> {
  readonly machine: M;
  readonly #scope: AnyActorScope;
  #deferred: (() => void)[] = [];
  #emitted: EmittedFrom<M>[] = [];

  constructor(machine: M) {
    this.machine = machine;
    // Its guards and actions are given an actor, and look at none.
    const self = createEmptyActor();
    this.#scope = {
      self,
      id: self.id,
      sessionId: self.sessionId,
      system: self.system,
      logger: () => {},
      stopChild: () => {},
      defer: (act) => this.#deferred.push(act),
      emit: (emission: EmittedFrom<M>) => this.#emitted.push(emission),
      actionExecutor: (action) => action.exec?.(action.info, action.params),
    };
  }

  /**
   * Null when the state does not take the event: then nothing changed.
   * @throws what a guard or an action throws
   */
  step(before: SnapshotFrom<M>, event: EventFromLogic<M>): Step<M> | null {
    if ((before as AnyMachineSnapshot).status !== 'active') return null;
    try {
      const after = this.machine.transition(before, event, this.#scope) as SnapshotFrom<M>;
      for (const act of this.#deferred) act();
      return after === before ? null : { after, emitted: this.#emitted };
    } finally {
      this.#deferred = [];
      this.#emitted = [];
    }
  }
}
