import type { AnyActorScope, EventObject, MachineContext } from 'xstate';
import { Args } from './parts.ts';
import type { Configuration, Move } from './table.ts';

/** What an event did: all of a macrostep, transitions without an event included. */
export class Steps {
  at: Configuration;
  context: MachineContext;
  /** Whether there is a new snapshot: XState keeps the old one when nothing was assigned and no state left. */
  isNew = false;
  /** With what each action was given. */
  readonly emissions: { emission: EventObject; info: Args }[] = [];
  readonly #event: EventObject;
  readonly #scope: AnyActorScope;

  /** @param moves those that the event may take */
  constructor(
    from: Configuration,
    moves: readonly Move[],
    context: MachineContext,
    event: EventObject,
    scope: AnyActorScope,
  ) {
    this.at = from;
    this.context = context;
    this.#event = event;
    this.#scope = scope;
    this.#take(this.#choose(moves));
    while (!this.at.isFinal && this.#take(this.#choose(this.at.always)));
  }

  #choose(moves: readonly Move[]): Move | undefined {
    if (moves.length === 0) return undefined;
    const given = { context: this.context, event: this.#event };
    for (const move of moves) if (move.guard === null || move.guard(given)) return move;
    return undefined;
  }

  /** Whether it changed anything; what did not is not tried again. */
  #take(move: Move | undefined): boolean {
    if (move === undefined) return false;
    let isNew = move.to !== this.at;
    let args = new Args(this.context, this.#event, this.#scope);
    for (const action of move.actions) {
      if (action.kind === 'emit') {
        this.emissions.push({ emission: action.emissionOf(args), info: args });
        continue;
      }
      this.context = Object.assign({}, this.context, action.changesOf(args));
      args = new Args(this.context, this.#event, this.#scope);
      isNew = true;
    }
    this.at = move.to;
    this.isNew ||= isNew;
    return isNew;
  }
}
