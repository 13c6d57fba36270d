import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  type Snapshot,
  StateMachine,
  type StateValue,
} from 'xstate';
import { Macrostep } from './macrostep.ts';
import { type Args, UnsupportedChart } from './parts.ts';
import { type Configuration, compile } from './table.ts';

/**
 * The same machine with its steps compiled to a table. What an event does in a state is fixed by the chart, so it is
 * read from the chart once, here, and no longer found out anew by XState's interpreter for every event. Actors,
 * snapshots, guards, actions, emissions and the definition stay XState's own; nothing shows but the time it takes,
 * except that an `inspect` observer hears nothing of microsteps. Guards, assignments and emissions have to be pure.
 *
 * A chart that cannot be compiled (see `compile`) comes back as it is.
 */
export function compiled<M extends AnyStateMachine>(machine: M): M {
  try {
    return new CompiledMachine(machine) as AnyStateMachine as M;
  } catch (error) {
    if (error instanceof UnsupportedChart) return machine;
    throw error;
  }
}

const Machine = StateMachine as new (
  config: AnyStateMachine['config'],
  implementations: AnyStateMachine['implementations'],
) => AnyStateMachine;

class CompiledMachine extends Machine {
  /** By the very value that snapshots from here have. */
  readonly #byValue = new Map<StateValue, Configuration>();
  /** By the value as JSON, for what comes from elsewhere. */
  readonly #byText = new Map<string, Configuration>();

  constructor({ config, implementations }: AnyStateMachine) {
    super(config, implementations);
    for (const configuration of compile(this)) {
      const { value } = configuration.resting;
      this.#byValue.set(value, configuration);
      this.#byText.set(JSON.stringify(value), configuration);
    }
  }

  override transition(
    snapshot: AnyMachineSnapshot,
    event: EventObject,
    scope: AnyActorScope,
  ): AnyMachineSnapshot {
    const from = this.#under(snapshot);
    const moves = from?.on.get(event.type);
    if (from === undefined || moves === undefined) return super.transition(snapshot, event, scope);
    let steps: Macrostep;
    try {
      steps = new Macrostep(from, moves, snapshot.context, event, scope);
    } catch {
      // Nothing was done yet. The interpreter can spawn, and says in its own words what failed.
      return super.transition(snapshot, event, scope);
    }
    if (steps.emissions !== null)
      for (const { emission, info } of steps.emissions) emit(emission, info, scope);
    return steps.isNew ? { ...steps.at.reached, context: steps.context } : snapshot;
  }

  override resolveState(config: Parameters<AnyStateMachine['resolveState']>[0]): AnyMachineSnapshot {
    const { value, context, ...more } = config;
    for (const _ in more) return super.resolveState(config);
    const at = this.#at(value);
    return at === undefined ? super.resolveState(config) : { ...at.resting, context: context || {} };
  }

  override restoreSnapshot(snapshot: Snapshot<unknown>, scope: AnyActorScope): AnyMachineSnapshot {
    const live = snapshot as AnyMachineSnapshot;
    const isOurs = live.machine === this && this.#under(live) !== undefined;
    return isOurs ? live : super.restoreSnapshot(snapshot, scope);
  }

  #at(value: StateValue): Configuration | undefined {
    return this.#byValue.get(value) ?? this.#byText.get(JSON.stringify(value));
  }

  /** The configuration of an actor; undefined when it has ended, or has what only the interpreter keeps. */
  #under(snapshot: AnyMachineSnapshot): Configuration | undefined {
    const { status, value, output, error } = snapshot;
    if (status !== 'active' || output !== undefined || error !== undefined) return undefined;
    const at = this.#at(value);
    return at !== undefined && isBare(snapshot, at.resting) ? at : undefined;
  }
}

/** Whether it has neither children nor history, as the one that is known to have none. */
function isBare({ children, historyValue }: AnyMachineSnapshot, known: AnyMachineSnapshot): boolean {
  if (children === known.children && historyValue === known.historyValue) return true;
  return Object.keys(children).length === 0 && Object.keys(historyValue).length === 0;
}

/** As XState does it: after the snapshot is in place. */
function emit(emission: EventObject, info: Args, scope: AnyActorScope): void {
  scope.actionExecutor({
    type: 'xstate.emit',
    info,
    params: { event: emission },
    exec: () => scope.defer(() => scope.emit(emission)),
  });
}
