import type { AnyActorScope, EventObject, MachineContext } from 'xstate';
import { Args } from './parts.ts';
import type { CompiledTransition, Configuration } from './table.ts';

/** What an event did: all of a macrostep, transitions without an event included. */
export class Macrostep {
  at: Configuration;
  /** Whether there is a new snapshot: XState keeps the old one when nothing was assigned and no state left. */
  isNew = false;
  /** In order, each with what its action was given. */
  emissions: { emission: EventObject; info: Args }[] | null = null;
  #args: Args;

  /** @param moves those that the event may take */
  constructor(
    from: Configuration,
    moves: readonly CompiledTransition[],
    context: MachineContext,
    event: EventObject,
    scope: AnyActorScope,
  ) {
    this.at = from;
    this.#args = new Args(context, event, scope.self, scope.system);
    this.#take(this.#choose(moves));
    while (!this.at.isFinal && this.#take(this.#choose(this.at.always)));
  }

  get context(): MachineContext {
    return this.#args.context;
  }

  #choose(moves: readonly CompiledTransition[]): CompiledTransition | undefined {
    for (const move of moves) if (move.guard === null || move.guard(this.#args)) return move;
    return undefined;
  }

  /** Whether it changed anything; what did not is not tried again. */
  #take(move: CompiledTransition | undefined): boolean {
    if (move === undefined) return false;
    let isNew = move.to !== this.at;
    for (const action of move.actions) {
      if (action.kind === 'assign') {
        this.#assign(action.changesOf(this.#args));
        isNew = true;
      } else this.#emit(action.emissionOf(this.#args));
    }
    this.at = move.to;
    this.isNew ||= isNew;
    return isNew;
  }

  #assign(changes: object): void {
    const { context, event, self, system } = this.#args;
    this.#args = new Args({ ...context, ...changes }, event, self, system);
  }

  #emit(emission: EventObject): void {
    const emitted = { emission, info: this.#args };
    // Most steps emit once; an array that is pushed to takes room for many.
    if (this.emissions === null) this.emissions = [emitted];
    else this.emissions.push(emitted);
  }
}
