import { type AnyMachineSnapshot, type AnyStateMachine, transition } from 'xstate';
import type { MachineName } from '../../../../../../machines/charts/names.ts';
import { jobMachine } from '../../../../../../machines/job/job.ts';
import { taskMachine } from '../../../../../../machines/task/task.ts';
import { workerMachine } from '../../../../../../machines/worker/worker.ts';
import type { Choosable } from '../past.ts';

/** The machines that run in the server, as they run there. */
export const MACHINES: Readonly<Record<Choosable, AnyStateMachine>> = {
  job: jobMachine,
  task: taskMachine,
  worker: workerMachine,
};

export type Context = Readonly<Record<string, unknown>>;
export type MachineEvent = { type: string } & Readonly<Record<string, unknown>>;

/** Where an actor is, and what it knows. What is not known of it is `undefined`. */
export interface Snapshot {
  /** As XState has it: `queued`, `{ running: 'executing' }`. */
  value: unknown;
  context: Context;
}

export interface Acted {
  after: Snapshot;
  /** What the machine says has happened, in order. */
  emitted: readonly MachineEvent[];
  /** Whether its state takes the event; if not, nothing has changed. */
  taken: boolean;
}

/**
 * What an event does to a copy of an actor: the machine's own guards, assignments and emissions, and nothing else.
 * @throws what they throw at an event that lacks what they need
 */
export function act(kind: Choosable, before: Snapshot, event: MachineEvent): Acted {
  const machine = MACHINES[kind];
  const snapshot = machine.resolveState({
    value: before.value as never,
    context: before.context,
  }) as AnyMachineSnapshot;
  if (snapshot.status !== 'active') return { after: before, emitted: [], taken: false };
  const [after, actions] = transition(machine, snapshot as never, event as never);
  const emitted = (actions as { type: string; params?: { event?: MachineEvent } }[]).flatMap(
    ({ type, params }) => (type === 'xstate.emit' && params?.event ? [params.event] : []),
  );
  const { value, context } = after as AnyMachineSnapshot;
  return { after: { value, context }, emitted, taken: (after as unknown) !== snapshot };
}

/** The id of a state, such as `task.running.executing`. */
export function stateId(machine: MachineName, value: unknown): string {
  if (typeof value === 'string') return `${machine}.${value}`;
  const [[outer, inner] = []] = Object.entries((value ?? {}) as Record<string, unknown>);
  return outer === undefined ? machine : stateId(`${machine}.${outer}` as MachineName, inner);
}

/** Every event that a machine knows in some state, but for what follows by itself. */
export const eventsOf = (kind: Choosable): string[] =>
  MACHINES[kind].events.filter((type) => !type.startsWith('xstate.')).sort();

/** The same as XState has it. */
export function valueAt(id: string): unknown {
  const [, ...path] = id.split('.');
  return path.reduceRight<unknown>((inner, key) => (inner === undefined ? key : { [key]: inner }), undefined);
}
