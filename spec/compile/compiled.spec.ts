import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  assign,
  createActor,
  createMachine,
  type EventObject,
  emit,
  fromCallback,
  transition,
} from 'xstate';
import { getStateNodes } from 'xstate/graph';
import { compiled } from '../../actors/server/runtime/compile/compiled-machine.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { attemptMachine } from '../../machines/attempt/attempt.ts';
import { jobMachine } from '../../machines/job/job.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import { taskMachine as taskChart } from '../../machines/task/task.ts';
import { workerMachine as workerChart } from '../../machines/worker/worker.ts';
import { ARBITRARY } from '../machines/arbitrary.ts';
import { stateValue } from '../machines/drive.ts';
import { Seeded } from '../support/seeded.ts';
import { type Command, live, look, step, type Twins, twinsOf } from './twins.ts';
import { EVENTS, LEFT_ALONE, randomChart, UNDERSTOOD } from './zoo.ts';

const taskMachine = compiled(taskChart);
const workerMachine = compiled(workerChart);

const MACHINES: Record<keyof typeof ARBITRARY, AnyStateMachine> = {
  job: compiled(jobMachine as AnyStateMachine),
  task: taskMachine,
  worker: workerMachine,
  supervisor: compiled(supervisorMachine as AnyStateMachine),
};

/** Every state in which the machine can be, passing and final ones included. */
const leavesOf = (machine: AnyStateMachine) =>
  getStateNodes(machine)
    .filter(({ type }) => type === 'atomic' || type === 'final')
    .map(({ path }) => path.join('.'));

const NEVER = { type: 'NO_SUCH_EVENT' };

/** Fails when the interpreter looks for a transition while `run` does. */
function alone(machine: AnyStateMachine, run: () => void): void {
  const asked: string[] = [];
  const original = machine.getTransitionData;
  machine.getTransitionData = (snapshot, event) => {
    asked.push(event.type);
    return original.call(machine, snapshot, event);
  };
  try {
    run();
  } finally {
    machine.getTransitionData = original;
  }
  assert.deepEqual(asked, [], 'events for which the interpreter was asked');
}

for (const [name, machine] of Object.entries(MACHINES)) {
  const { context, events } = ARBITRARY[name as keyof typeof ARBITRARY];
  const twins = twinsOf(machine);
  const anyEvent = fc.oneof(...Object.values(events));

  describe(`the compiled ${name} does what the interpreter of XState does`, () => {
    it('for all of its states and events, which it knows', () => {
      assert.notEqual(twins.looked.transition, twins.interpreted.transition);
      assert.deepEqual([...machine.events].sort(), Object.keys(events).sort());
      const inside = leavesOf(machine).filter((leaf) => {
        return machine.resolveState({ value: stateValue(leaf), context: {} } as never).status === 'active';
      });
      const contexts = fc.sample(context, { seed: 1, numRuns: 5 });
      const told = Object.values(events).flatMap((event) => fc.sample(event, { seed: 1, numRuns: 5 }));
      const starts = inside.flatMap((leaf) =>
        contexts.map((one) => machine.resolveState({ value: stateValue(leaf), context: one } as never)),
      );
      alone(machine, () => {
        for (const start of starts) for (const event of told) transition(machine, start, event);
      });
    });

    for (const leaf of leavesOf(machine)) {
      it(`for every event in ${leaf}, whatever is in the context and in the event`, () => {
        for (const event of [...Object.values(events), fc.constant(NEVER)]) {
          fc.assert(
            fc.property(context, event, (one, told) => {
              step(twins, { value: stateValue(leaf), context: one }, told);
            }),
            { seed: 1, numRuns: 40 },
          );
        }
      });
    }

    it('for an event that is not taken: the snapshot is the same object', () => {
      const refused = new Set<string>();
      for (const leaf of leavesOf(machine)) {
        for (const [type, event] of Object.entries(events)) {
          const at = { value: stateValue(leaf), context: fc.sample(context, { seed: 2, numRuns: 1 })[0] };
          const { isSame, before, after } = step(
            twins,
            at,
            fc.sample(event, { seed: 2, numRuns: 1 })[0] as never,
          );
          if (!isSame) continue;
          assert.deepEqual(after, before);
          refused.add(type);
        }
      }
      assert.notEqual(refused.size, 0, 'some event is refused somewhere');
    });

    it('for whole lives of actors, also when each goes on from the persisted snapshot of the other', () => {
      let taken = 0;
      const command: fc.Arbitrary<Command> = fc.oneof(
        { arbitrary: anyEvent, weight: 12 },
        { arbitrary: fc.constant('persist' as const), weight: 1 },
      );
      const samples = fc.sample(anyEvent, { seed: 3, numRuns: 12 });
      const life = fc.array(command, { minLength: 20, maxLength: 60, size: 'max' });
      fc.assert(
        fc.property(context, fc.constantFrom(...leavesOf(machine)), life, (one, leaf, commands) => {
          const snapshots = [twins.interpreted, twins.looked].map((side) => {
            return side.resolveState({ value: stateValue(leaf), context: one } as never);
          });
          assert.deepEqual(look(snapshots[1] as never, samples), look(snapshots[0] as never, samples));
          // Made of its input, and restored in any state.
          taken += live(twins, { input: one }, commands, samples);
          taken += live(twins, { snapshot: snapshots[0] }, commands, samples);
        }),
        { seed: 3, numRuns: 60 },
      );
      assert.ok(taken > 300, `${taken} events were taken`);
    });
  });
}

/** Random lives of actors of the chart; the number of events that were taken. */
function lives(twins: Twins, seed: string, runs: number): number {
  const chance = new Seeded(seed);
  const options = twins.interpreted.config.context ? {} : { input: {} };
  let taken = 0;
  for (let run = 0; run < runs; run++) {
    const commands = Array.from({ length: chance.whole(5, 40) }, (): Command => {
      return chance.chance(0.05) ? 'persist' : chance.pick(EVENTS);
    });
    taken += live(twins, options, commands, EVENTS);
  }
  return taken;
}

describe('a chart that compiles to a table behaves as it does when interpreted', () => {
  for (const [name, chart] of Object.entries(UNDERSTOOD)) {
    it(name, () => {
      const twins = twinsOf(chart);
      assert.notEqual(twins.looked, twins.interpreted, 'it is looked up');
      assert.ok(lives(twins, name, 40) > 50, 'events were taken');
    });
  }

  it('whatever its states, transitions, guards and actions are', () => {
    const chance = new Seeded('any chart');
    let taken = 0;
    for (let i = 0; i < 250; i++) {
      const twins = twinsOf(randomChart(chance));
      assert.notEqual(twins.looked, twins.interpreted, 'it is looked up');
      taken += lives(twins, `lives of chart ${i}`, 3);
    }
    assert.ok(taken > 2000, `${taken} events were taken`);
  });

  it('also in what an inspector sees of its actions', () => {
    const { interpreted, looked } = twinsOf(
      UNDERSTOOD['assignments of every form, tags and metadata of states'] as never,
    );
    const [theirs, ours] = [interpreted, looked].map((machine) => {
      const told: unknown[] = [];
      const inspect = (message: { type: string; event?: unknown; action?: unknown }) => {
        if (message.type !== '@xstate.microstep') told.push([message.type, message.event, message.action]);
      };
      const actor = createActor(machine, { inspect: inspect as never }).start();
      for (const event of EVENTS) actor.send(event);
      return told;
    });
    assert.deepEqual(ours, theirs);
    assert.ok(
      ours?.some((told) => (told as string[])[0] === '@xstate.action'),
      'actions were told',
    );
  });
});

describe('a chart that does not compile to a table is left to the interpreter', () => {
  for (const [name, chart] of Object.entries(LEFT_ALONE)) {
    it(name, () => {
      assert.equal(compiled(chart), chart, 'it is the same machine');
      assert.ok(lives({ interpreted: chart, looked: compiled(chart) }, name, 5) >= 0);
    });
  }

  it('as are the worker program and its attempts, which invoke actors', () => {
    assert.equal(compiled(agentMachine as AnyStateMachine), agentMachine);
    assert.equal(compiled(attemptMachine as AnyStateMachine), attemptMachine);
  });
});

describe('a step that only the interpreter can do is left to it as a whole', () => {
  it('an assignment that spawns', () => {
    const idle = fromCallback(() => undefined);
    const chart = createMachine({
      ...{ context: { n: 0, child: null as unknown }, initial: 'a' },
      states: {
        a: {
          exit: [assign({ n: ({ context }) => context.n + 1 }), emit({ type: 'left' })],
          on: {
            A: { target: 'b', actions: assign(({ spawn }) => ({ child: spawn(idle, { id: 'child' }) })) },
          },
        },
        b: { on: { B: 'a' } },
      },
    });
    const twins = twinsOf(chart as never);
    assert.notEqual(twins.looked, twins.interpreted, 'it is looked up otherwise');
    const [theirs, ours] = [twins.interpreted, twins.looked].map((machine) => {
      const told: unknown[] = [];
      const actor = createActor(machine);
      actor.on('*', (emission) => told.push(emission));
      actor.start();
      for (const type of ['A', 'B', 'X', 'A']) {
        actor.send({ type });
        const { children, value, context } = actor.getSnapshot();
        told.push({
          value,
          n: context.n,
          children: Object.keys(children),
          isChild: context.child === children.child,
        });
      }
      return told;
    });
    assert.deepEqual(ours, theirs);
    assert.deepEqual(ours?.at(-1), { value: 'b', n: 2, children: ['child'], isChild: true });
  });

  const fault = () => {
    throw new Error('out of order');
  };
  for (const [what, on] of Object.entries({
    'a guard that throws': { guard: fault, target: 'b' },
    'an assignment that throws': { target: 'b', actions: [emit({ type: 'first' }), assign(fault)] },
    'an emission that throws': { target: 'b', actions: emit(fault) },
  })) {
    it(`${what}: the error is the one of the interpreter, reported once`, () => {
      const chart = createMachine({ initial: 'a', states: { a: { on: { A: on } }, b: {} } } as never);
      const twins = twinsOf(chart as never);
      assert.notEqual(twins.looked, twins.interpreted, 'it is looked up otherwise');
      const [theirs, ours] = [twins.interpreted, twins.looked].map((machine) => {
        const told: unknown[] = [];
        const actor = createActor(machine);
        actor.on('*', ({ type }) => told.push(type));
        actor.subscribe({ error: (error) => told.push(String(error)) });
        actor.start().send({ type: 'A' });
        return { told, status: actor.getSnapshot().status, value: actor.getSnapshot().value };
      });
      assert.deepEqual(ours, theirs);
      assert.match(String(ours?.told.at(-1)), /out of order/);
    });
  }
});

describe('a snapshot from anywhere is understood', () => {
  const twins = twinsOf(taskMachine);
  const [context] = fc.sample(ARBITRARY.task.context, { seed: 4, numRuns: 1 });
  const value = () => ({ running: 'executing' });
  const expiry = { type: 'LEASE_EXPIRED' };

  it('when its state value is another object with the same content', () => {
    const snapshot = { ...taskMachine.resolveState({ value: value(), context } as never), value: value() };
    alone(taskMachine, () => {
      const [after] = transition(taskMachine as AnyStateMachine, snapshot as never, expiry);
      assert.notEqual(after.value, snapshot.value);
    });
  });

  it('when it comes from the interpreter', () => {
    const actor = createActor(taskMachine, {
      input: context as never,
      snapshot: twins.interpreted.resolveState({ value: value(), context } as never) as never,
    }).start();
    alone(taskMachine, () => actor.send(expiry as never));
    assert.equal(typeof actor.getSnapshot().value, 'string');
    assert.equal(actor.getSnapshot().machine, taskMachine);
  });

  it('and one that is not in a stable state keeps all that it has', () => {
    const odd: object[] = [
      { status: 'stopped' },
      { status: 'error', error: new Error('broken') },
      { status: 'done', output: 7 },
      { output: 7 },
      { error: 'odd' },
      { historyValue: { x: [] } },
    ];
    for (const more of odd) {
      const at = { value: value(), context, ...more } as { value: unknown; context: unknown };
      for (const type of ['LEASE_EXPIRED', 'RETRY', 'xstate.stop', 'xstate.error.actor.x'])
        step(twins, at, { type });
    }
  });

  it('and states named in short form are resolved as XState resolves them', () => {
    for (const short of ['running', { running: 'stopping' }, 'queued', 'succeeded']) {
      for (const given of [context, undefined]) {
        const [theirs, ours] = [twins.interpreted, twins.looked].map((side) => {
          return look(side.resolveState({ value: short, context: given } as never), []);
        });
        assert.deepEqual(ours, theirs);
      }
    }
    assert.throws(() => taskMachine.resolveState({ value: 'nowhere' as never, context } as never), /nowhere/);
  });

  it('and no snapshot can be changed through another', () => {
    const [one, other] = [1, 2].map(() =>
      workerMachine.resolveState({ value: 'dead', context: {} } as never),
    );
    assert.throws(() => Object.assign((one as AnyMachineSnapshot).children, { x: 1 }), TypeError);
    assert.throws(() => Object.assign((one as AnyMachineSnapshot).historyValue, { x: 1 }), TypeError);
    assert.deepEqual(other?.children, {});
  });
});

describe('a compiled machine', () => {
  it('has the definition of its chart, and lets its implementations be changed', () => {
    const events: EventObject[] = [{ type: 'TASK_TAKEN' }];
    const { interpreted } = twinsOf(workerMachine);
    assert.equal(JSON.stringify(workerMachine.definition), JSON.stringify(interpreted.definition));
    const never = workerMachine.provide({ guards: { takesLastSlot: () => false } });
    const actor = createActor(never, {
      input: { id: 'w', slots_total: 1, slots_used: 0, suspended: null, leaving: null, drained: null },
    }).start();
    for (const event of events) actor.send(event as never);
    assert.deepEqual(actor.getSnapshot().value, { alive: 'busy' });
  });
});
