import assert from 'node:assert/strict';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  createMachine,
  type EventObject,
  SimulatedClock,
  transition,
} from 'xstate';
import { compiled } from '../../actors/server/runtime/compile/compiled-machine.ts';

/** One chart twice: as XState's interpreter runs it, and with its steps looked up. */
export interface Twins {
  interpreted: AnyStateMachine;
  looked: AnyStateMachine;
}

/** The machine, which may be compiled already, beside itself as XState makes it. */
export function twinsOf(machine: AnyStateMachine): Twins {
  const interpreted = createMachine(machine.config, machine.implementations as never) as AnyStateMachine;
  const isPlain = Object.getPrototypeOf(machine) === Object.getPrototypeOf(interpreted);
  return { interpreted, looked: isPlain ? compiled(interpreted) : machine };
}

/** All that can be seen of a snapshot. */
export function look(snapshot: AnyMachineSnapshot, events: readonly EventObject[]): unknown {
  const { value, context, status, output, error, tags, children, historyValue, _nodes } = snapshot;
  return {
    members: Object.keys(snapshot),
    ...{ value, context, status, output, error: error === undefined ? error : String(error) },
    ...{ tags: [...tags], children: Object.keys(children), history: Object.keys(historyValue) },
    nodes: _nodes.map(({ id }) => id),
    meta: snapshot.getMeta(),
    json: JSON.stringify(snapshot),
    matches: _nodes.map(({ path }) => path.length === 0 || snapshot.matches(path.join('.') as never)),
    hasTag: [...tags, 'no such tag'].map((tag) => snapshot.hasTag(tag)),
    can: events.map((event) => snapshot.can(event)),
  };
}

/** What one event does to a snapshot at rest; both twins have to say the same, which is returned. */
export function step(
  { interpreted, looked }: Twins,
  at: { value: unknown; context: unknown },
  event: EventObject,
) {
  const [theirs, ours] = [interpreted, looked].map((machine) => {
    const before = machine.resolveState(at as never);
    const [after, actions] = transition(machine, before, event);
    return {
      before: look(before, [event]),
      after: look(after, [event]),
      isSame: after === before,
      actions: (actions as { type: string; params: unknown }[]).map(({ type, params }) => ({ type, params })),
    };
  });
  assert.deepEqual(ours, theirs, `${JSON.stringify(at)} × ${JSON.stringify(event)}`);
  return ours as NonNullable<typeof ours>;
}

/** An actor that keeps a record of all it lets out: emissions with the snapshot they were seen beside, snapshots. */
class Recorded {
  readonly actor: ReturnType<typeof createActor<AnyStateMachine>>;
  readonly record: unknown[] = [];

  constructor(machine: AnyStateMachine, options: object) {
    this.actor = createActor(machine, { ...options, clock: new SimulatedClock() } as never);
    this.actor.on('*', (emission) => this.record.push({ emission, beside: look(this.snapshot, []) }));
    this.actor.subscribe({
      next: (snapshot) => this.record.push({ next: look(snapshot, []) }),
      error: (fault) => this.record.push({ error: String(fault) }),
      complete: () => this.record.push('complete'),
    });
    this.actor.start();
  }

  get snapshot(): AnyMachineSnapshot {
    return this.actor.getSnapshot();
  }
}

/** Send an event, or go on from the persisted snapshot of the other twin, as text. */
export type Command = EventObject | 'persist';

/**
 * Leads both twins through a life, and through another when it has ended. After each command they have let out the
 * same and look the same. Returns how many events were taken.
 */
export function live(
  twins: Twins,
  options: object,
  commands: readonly Command[],
  events: EventObject[],
): number {
  const machines = [twins.interpreted, twins.looked];
  let actors = machines.map((machine) => new Recorded(machine, options));
  let taken = 0;
  const agree = (what: unknown) => {
    const [theirs, ours] = actors.map(({ record, snapshot }) => ({ record, is: look(snapshot, events) }));
    assert.deepEqual(ours, theirs, JSON.stringify(what));
  };
  agree('the beginning');
  for (const command of commands) {
    if (actors[0]?.snapshot.status !== 'active') {
      actors = machines.map((machine) => new Recorded(machine, options));
    } else if (command === 'persist') {
      const texts = actors.map(({ actor }) => JSON.stringify(actor.getPersistedSnapshot()));
      assert.equal(texts[1], texts[0], 'what is persisted');
      actors = machines.map((machine, i) => {
        return new Recorded(machine, { ...options, snapshot: JSON.parse(texts[1 - i] as string) });
      });
    } else {
      const isSame = actors.map(({ actor, snapshot, record }) => {
        record.length = 0;
        actor.send(command);
        return actor.getSnapshot() === snapshot;
      });
      assert.equal(isSame[1], isSame[0], `whether ${JSON.stringify(command)} leaves the snapshot as it is`);
      if (!isSame[0]) taken++;
    }
    agree(command);
  }
  for (const { actor } of actors) actor.stop();
  return taken;
}
