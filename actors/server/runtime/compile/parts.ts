import {
  type AnyActorRef,
  type AnyActorScope,
  type AnyStateMachine,
  assign,
  type EventObject,
  emit,
  type MachineContext,
} from 'xstate';
import { AppError } from '../../../../machines/protocol/app-error.ts';

/** What guards and actions are given; only `assign` may also spawn, and that is the interpreter's to do. */
export class Args {
  readonly context: MachineContext;
  readonly event: EventObject;
  readonly self: AnyActorRef;
  readonly system: AnyActorScope['system'];

  constructor(context: MachineContext, event: EventObject, self: AnyActorRef, system: Args['system']) {
    this.context = context;
    this.event = event;
    this.self = self;
    this.system = system;
  }

  get spawn(): never {
    throw new UnsupportedChart('an action that spawns');
  }
}

export type Guard = (args: Args) => boolean;

/** An action of a kind that a table knows. */
export type Action =
  | { kind: 'assign'; changesOf(args: Args): object }
  | { kind: 'emit'; emissionOf(args: Args): EventObject };

/** The chart has something that cannot be compiled. */
export class UnsupportedChart extends AppError {
  readonly code = 'unsupported_chart';
}

type Expression = (args: Args, params: unknown) => never;
/** A name, a function, or a name with parameters; as charts write guards and actions. */
type Reference = string | Expression | { type: string; params?: unknown };

/** The guard behind a reference; null when there is none. */
export function guardOf(machine: AnyStateMachine, reference: unknown): Guard | null {
  if (reference === undefined) return null;
  const guard = implementationOf(machine.implementations.guards, reference as Reference);
  // Those that XState combines of others have a `check`.
  if (typeof guard !== 'function' || 'check' in guard) throw new UnsupportedChart('a guard');
  const params = paramsOf(reference as Reference);
  return (args) => guard(args, params(args));
}

export function actionOf(machine: AnyStateMachine, reference: unknown): Action {
  const action = implementationOf(machine.implementations.actions, reference as Reference);
  const params = paramsOf(reference as Reference);
  if (isBuiltIn(action, ASSIGN)) {
    const { assignment } = action as unknown as { assignment: unknown };
    if (typeof assignment === 'function') {
      return { kind: 'assign', changesOf: (args) => assignment(args, params(args)) };
    }
    const changes = Object.entries(assignment as object);
    return { kind: 'assign', changesOf: (args) => changesOf(changes, args, params(args)) };
  }
  if (isBuiltIn(action, EMIT)) {
    const { event } = action as unknown as { event: EventObject | Expression };
    if (typeof event === 'function') {
      return { kind: 'emit', emissionOf: (args) => event(args, params(args)) };
    }
    return { kind: 'emit', emissionOf: () => event };
  }
  throw new UnsupportedChart('an action');
}

const ASSIGN: unknown = assign({});
const EMIT: unknown = emit({ type: 'any' });

/** Whether an action was made by the same maker as the sample. */
function isBuiltIn(action: unknown, sample: unknown): boolean {
  if (typeof action !== 'function' || !('resolve' in action)) return false;
  return action.resolve === (sample as { resolve: unknown }).resolve;
}

function implementationOf(named: object, reference: Reference): Expression | undefined {
  if (typeof reference === 'function') return reference;
  const name = typeof reference === 'string' ? reference : reference.type;
  return (named as Record<string, Expression | undefined>)[name];
}

const none = () => undefined;

function paramsOf(reference: Reference): (args: Args) => unknown {
  if (typeof reference !== 'object' || reference.params === undefined) return none;
  const { params } = reference;
  if (typeof params !== 'function') return () => params;
  return (args) => params(args);
}

function changesOf(entries: [string, unknown][], args: Args, params: unknown): object {
  const changes: Record<string, unknown> = {};
  for (const [key, change] of entries) {
    changes[key] = typeof change === 'function' ? change(args, params) : change;
  }
  return changes;
}
