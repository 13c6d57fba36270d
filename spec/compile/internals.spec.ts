import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { type AnyStateMachine, assign, createActor, createMachine, emit } from 'xstate';
import pkg from '../../package.json' with { type: 'json' };

const installed = createRequire(import.meta.url)('xstate/package.json') as { version: string };
const HELP =
  'the compiler of statecharts (actors/server/runtime/compile) reads this; see what XState changed';

const chart = createMachine(
  {
    id: 'chart',
    context: { count: 0 },
    initial: 'outer',
    states: {
      outer: {
        initial: 'inner',
        entry: 'note',
        exit: 'note',
        states: { inner: { on: { GO: { guard: 'may', target: '#chart.end', actions: ['note', 'say'] } } } },
        on: { GO: { actions: 'say' } },
        always: { guard: 'never', target: 'end' },
      },
      end: { type: 'final' },
    },
  },
  {
    guards: { may: () => true, never: () => false },
    actions: { note: assign({ count: ({ context }) => context.count + 1 }), say: emit({ type: 'said' }) },
  },
) as unknown as AnyStateMachine;

describe('the internals of XState that the compiler of statecharts reads', () => {
  it('are those of one version, which is pinned', () => {
    assert.equal(
      pkg.dependencies.xstate,
      installed.version,
      'XState is not pinned to the version that is installed',
    );
  });

  it('include nodes with their transitions by event, in the order of the chart', () => {
    const outer = chart.root.states.outer;
    const inner = outer?.states.inner;
    const on = inner?.on as unknown as Record<string, object[]> | undefined;
    const [go] = on?.GO ?? [];
    const members = ['source', 'target', 'reenter', 'actions', 'guard'];
    assert.deepEqual(
      members.filter((name) => !(go && name in go)),
      [],
      HELP,
    );
    assert.deepEqual(outer?.initial.target, [inner], HELP);
    assert.deepEqual(outer?.initial.actions, [], HELP);
    assert.deepEqual([outer?.entry, outer?.exit], [['note'], ['note']], HELP);
    assert.equal(outer?.always?.length, 1, HELP);
    assert.deepEqual(
      [chart.root.type, outer?.type, inner?.type, chart.root.states.end?.type],
      ['compound', 'compound', 'atomic', 'final'],
      HELP,
    );
    assert.deepEqual([inner?.path, inner?.parent, inner?.machine], [['outer', 'inner'], outer, chart], HELP);
  });

  it('include implementations by name, and the arguments of assign and emit', () => {
    const { guards, actions } = chart.implementations as unknown as Record<
      string,
      Record<string, Record<string, unknown>>
    >;
    assert.equal(typeof guards?.may, 'function', HELP);
    assert.equal(typeof actions?.note?.assignment, 'object', HELP);
    assert.deepEqual(actions?.say?.event, { type: 'said' }, HELP);
    const sameMaker = (action: unknown, sample: unknown) =>
      (action as { resolve: unknown }).resolve === (sample as { resolve: unknown }).resolve;
    assert.ok(sameMaker(actions?.note, assign({})) && sameMaker(actions?.say, emit({ type: 'other' })), HELP);
    assert.ok(!sameMaker(actions?.note, emit({ type: 'other' })), HELP);
  });

  it('include snapshots, each a plain object with these members', () => {
    const snapshot = chart.resolveState({ value: { outer: 'inner' }, context: { count: 0 } });
    const members = '_nodes children context error historyValue machine output status tags value'.split(' ');
    assert.deepEqual(
      members.filter((name) => !(name in snapshot)),
      [],
      HELP,
    );
    assert.deepEqual({ ...snapshot, context: { count: 1 } }.value, { outer: 'inner' }, HELP);
    assert.equal(snapshot.machine, chart, HELP);
  });

  it('include the actions that an actor executes, and the emissions that it sends after its new snapshot', () => {
    const types: string[] = [];
    const transition = chart.transition.bind(chart);
    const actor = createActor(chart);
    chart.transition = (before, event, scope) => {
      for (const name of ['self', 'system', 'defer', 'emit', 'actionExecutor'])
        assert.ok(name in scope, HELP);
      const execute = scope.actionExecutor;
      return transition(before, event, {
        ...scope,
        actionExecutor: (action) => {
          types.push(action.type);
          execute(action);
        },
      });
    };
    const heard: string[] = [];
    actor.on('*', ({ type }) => heard.push(`${type} in ${JSON.stringify(actor.getSnapshot().value)}`));
    actor.start().send({ type: 'GO' });
    assert.deepEqual(types, ['xstate.emit'], HELP);
    assert.deepEqual(heard, ['said in "end"'], HELP);
  });
});
