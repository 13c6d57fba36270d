import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assign, createActor, emit, raise, setup } from 'xstate';
import { compiled } from '../../actors/server/runtime/compile/compiled-machine.ts';
import { Stage } from '../../actors/server/runtime/stage.ts';

const kit = setup({
  types: {
    context: {} as { count: number },
    events: {} as { type: 'GO' | 'BREAK' | 'END' | 'ODD' },
    emitted: {} as { type: 'went'; count: number },
  },
  actions: {
    count: assign({ count: ({ context }) => context.count + 1 }),
    went: emit(({ context }) => ({ type: 'went', count: context.count })),
    breaks: assign(() => {
      throw new Error('it broke');
    }),
    odd: raise({ type: 'ODD' }),
  },
});

/** One chart that compiles to a table, and one that only the interpreter can run. */
const charts = {
  'compiles to a table': compiled(
    kit.createMachine({
      initial: 'on',
      context: { count: 0 },
      states: {
        on: {
          on: {
            GO: { actions: ['count', 'went', 'count', 'went'] },
            BREAK: { actions: ['went', 'breaks'] },
            END: 'off',
          },
        },
        off: { type: 'final' },
      },
    }),
  ),
  'only the interpreter can run': kit.createMachine({
    initial: 'on',
    context: { count: 0 },
    states: {
      on: {
        on: {
          GO: { actions: ['count', 'went', 'odd'] },
          ODD: { actions: ['count', 'went'] },
          BREAK: { actions: ['went', 'breaks'] },
          END: 'off',
        },
      },
      off: { type: 'final' },
    },
  }),
};

for (const [what, machine] of Object.entries(charts)) {
  describe(`a step of the stage, for a chart that ${what}`, () => {
    const start = () => createActor(machine).start().getSnapshot();

    test('gives the snapshot and the emissions, in order, that an actor of XState would give', () => {
      const stage = new Stage(machine);
      const actor = createActor(machine);
      const heard: unknown[] = [];
      actor.on('*', (emission) => heard.push(emission));
      actor.start();
      let here = start();
      const said: unknown[] = [];
      for (const type of ['GO', 'END', 'GO', 'END'] as const) {
        actor.send({ type });
        const step = stage.step(here, { type });
        if (step) said.push(...step.emitted);
        here = step?.after ?? here;
        assert.deepEqual(
          [here.value, here.context, here.status],
          [actor.getSnapshot().value, actor.getSnapshot().context, actor.getSnapshot().status],
        );
      }
      assert.deepEqual(said, heard);
      assert.deepEqual(said, [
        { type: 'went', count: 1 },
        { type: 'went', count: 2 },
      ]);
    });

    test('says that nothing changed where the state does not take the event, or is final', () => {
      const stage = new Stage(machine);
      assert.equal(stage.step(start(), { type: 'unknown' } as never), null);
      const ended = stage.step(start(), { type: 'END' })?.after;
      assert.equal(ended?.status, 'done');
      assert.equal(stage.step(ended, { type: 'GO' }), null);
    });

    test('throws what an action throws, and leaves nothing to the next step', () => {
      const stage = new Stage(machine);
      const here = start();
      assert.throws(() => stage.step(here, { type: 'BREAK' }), /it broke/);
      assert.deepEqual(here.context, { count: 0 });
      assert.equal(stage.step(here, { type: 'GO' })?.emitted.length, 2);
    });
  });
}
