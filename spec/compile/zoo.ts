import {
  type AnyStateMachine,
  and,
  assign,
  createMachine,
  emit,
  enqueueActions,
  fromCallback,
  raise,
  sendTo,
  setup,
  stateIn,
} from 'xstate';
import type { Seeded } from '../support/seeded.ts';

/** Unusual charts: what XState allows although our charts do not use it. */

const WORDS = ['A', 'B', 'C', 'D', 'E', 'F'] as const;
/** What the charts are told, and something that none of them knows. */
export const EVENTS = [...WORDS, 'UNKNOWN'].map((type) => ({ type }));

/** An actor of these charts counts, and remembers the latest of what was done, in order, and why. */
const kit = setup({
  types: {} as {
    context: { trace: string[]; n: number; last?: unknown };
    events: { type: (typeof WORDS)[number] };
    emitted: { type: 'said'; what: string; n: number } | { type: 'sighed' };
    tags: string;
    meta: { what: string };
  },
  actions: {
    note: assign(({ context, event }, what: string) => ({
      trace: [...context.trace.slice(-30), `${what} for ${event.type}`],
    })),
    say: emit(({ context }, what: string) => ({ type: 'said', what, n: context.n })),
    sigh: emit({ type: 'sighed' }),
    add: assign({ n: ({ context }) => context.n + 1, last: 'added' }),
    set: assign({ n: (_, n: number) => n, last: ({ event }) => event.type }),
    zero: assign({ n: 0 }),
    nothing: assign(() => ({})),
  },
  guards: { isOdd: ({ context }) => context.n % 2 === 1, isBelow: ({ context }, n: number) => context.n < n },
});

const note = (params: string) => ({ type: 'note' as const, params });
const say = (params: string) => ({ type: 'say' as const, params });
const below = (params: number) => ({ type: 'isBelow' as const, params });
const told = (name: string) => ({ entry: [note(`enter ${name}`), say(name)], exit: note(`leave ${name}`) });
const context = { trace: [], n: 0 };

/** Charts that a table can say. */
export const UNDERSTOOD: Record<string, AnyStateMachine> = {
  'states in states, left and entered in their order, from and to every level': kit.createMachine({
    ...{ id: 'm', context, ...told('root') },
    initial: { target: 'a', actions: note('begin root') },
    on: { D: '#m.b.deep.down', E: { target: '#m', actions: note('E') }, F: { target: '.a', reenter: true } },
    states: {
      a: {
        ...told('a'),
        initial: { target: 'one', actions: [note('begin a'), 'sigh'] },
        on: { A: '.two', B: { target: 'b', actions: [say('B'), note('B')] } },
        states: {
          one: { ...told('a.one'), on: { C: '#m.a', A: { target: 'two', actions: 'add' } } },
          two: { ...told('a.two'), on: { C: '#m' } },
        },
      },
      b: {
        ...told('b'),
        initial: 'shallow',
        on: { A: 'a', C: '.deep' },
        states: {
          shallow: { ...told('b.shallow'), on: { B: 'deep', A: '#m.a.two' } },
          deep: {
            ...told('b.deep'),
            initial: { target: 'up', actions: note('begin b.deep') },
            on: { B: '#m.b', A: { target: '#m.b.shallow', actions: note('A') } },
            states: { up: { ...told('up'), on: { C: 'down' } }, down: told('down') },
          },
        },
      },
    },
  }),
  'a state that leads to itself, re-entered or not': kit.createMachine({
    ...{ id: 'm', context, ...told('root'), initial: 'a' },
    on: { E: { target: '#m', reenter: true, actions: note('E') }, F: { target: '#m', actions: 'sigh' } },
    states: {
      a: {
        ...told('a'),
        initial: { target: 'leaf', actions: note('begin a') },
        on: { C: { target: 'a', actions: note('C') }, D: { target: 'a', reenter: true, actions: note('D') } },
        states: {
          leaf: {
            entry: 'sigh',
            exit: say('leaf'),
            on: { A: { target: 'leaf' }, B: { target: 'leaf', reenter: true } },
          },
        },
      },
    },
  }),
  'steps without an event, one after another': kit.createMachine({
    ...{ id: 'm', context, initial: 'a' },
    always: { guard: ({ context }) => context.n > 8, target: '.spent', actions: [note('spent'), 'zero'] },
    states: {
      a: { on: { A: { target: 'b', actions: 'add' }, B: { actions: 'add' } }, exit: note('leave a') },
      b: { entry: 'add', always: { target: 'c', actions: say('b') } },
      c: {
        always: [
          { guard: 'isOdd', target: 'd' },
          { target: 'a', actions: note('round') },
        ],
      },
      d: {
        always: [{ guard: below(5), actions: ['add', say('d')] }, { target: 'a' }],
        exit: ['sigh', note('leave d')],
      },
      spent: { on: { A: { target: 'a', actions: 'add' } }, entry: note('enter spent') },
    },
  }),
  'steps without an event that change nothing are not tried again': kit.createMachine({
    ...{ id: 'm', context, initial: 'a' },
    states: {
      a: { always: { guard: below(3), actions: 'sigh' }, on: { A: { actions: 'add' }, B: 'b' } },
      b: {
        always: { target: 'b', reenter: true, actions: say('b') },
        on: { A: 'a', B: { actions: 'zero' } },
      },
    },
  }),
  'guards in their order, inner states before outer ones': kit.createMachine({
    ...{ id: 'm', context, initial: 'a' },
    on: { A: { target: '.b', actions: note('root A') }, B: { actions: 'add' }, C: { actions: 'zero' } },
    states: {
      a: {
        on: { A: { guard: below(4), actions: [note('a A'), 'add'] } },
        initial: 'one',
        states: {
          one: {
            on: {
              A: [
                {
                  guard: { type: 'isBelow', params: ({ context }) => context.trace.length - 2 },
                  target: 'two',
                },
                {
                  guard: ({ context, event }) => event.type === 'A' && context.n === 2,
                  actions: note('two'),
                },
                { guard: 'isOdd', target: 'two', actions: 'add' },
              ],
            },
          },
          two: { on: { A: { guard: 'isOdd', target: 'one' }, B: undefined, C: {} } },
        },
      },
      b: { on: { A: [{ guard: below(6), target: 'a' }, { guard: 'isOdd' }], D: { target: 'a' } } },
    },
  }),
  'a final state, with the exit actions of all states': kit.createMachine({
    ...{ id: 'm', context, ...told('root'), initial: 'a' },
    always: { guard: below(2), actions: ['add', note('always')] },
    on: { D: { actions: note('root D') } },
    states: {
      a: {
        ...told('a'),
        initial: 'leaf',
        states: {
          leaf: {
            ...told('leaf'),
            on: { A: '#m.end', B: { target: '#m.way', actions: 'zero' }, C: { actions: 'add' } },
          },
        },
      },
      way: { always: { target: 'end', actions: say('on the way') } },
      end: { type: 'final', ...told('end'), tags: 'over', meta: { what: 'the end' } },
    },
  }),
  'assignments of every form, tags and metadata of states': kit.createMachine({
    ...{ id: 'm', context, initial: 'a', tags: 'all', meta: { what: 'the root' } },
    states: {
      a: {
        tags: ['first', 'leaf'],
        meta: { what: 'a' },
        on: {
          A: { actions: { type: 'set', params: 7 } },
          B: { actions: { type: 'set', params: ({ context }) => context.n + context.trace.length } },
          C: { actions: 'nothing' },
          D: {
            actions: [
              assign({ n: 5 }),
              assign(({ context }) => ({ n: context.n * 2 })),
              emit({ type: 'sighed' }),
            ],
          },
          E: { target: 'b', actions: [{ type: 'say', params: ({ event }) => event.type }, 'add', say('E')] },
        },
      },
      b: { tags: ['second', 'leaf'], on: { A: 'a', B: { actions: 'sigh' } } },
    },
  }),
};

const own = () => undefined;
const child = fromCallback(() => undefined);
const states = { a: { on: { A: 'b' } }, b: { on: { A: 'a' } } } as const;
const base = { id: 'm', context, initial: 'a' } as const;

/** Charts that say more than a table can; each differs from one that it could. */
export const LEFT_ALONE: Record<string, AnyStateMachine> = {
  'parallel states': kit.createMachine({
    ...{ id: 'm', context, type: 'parallel' },
    states: { x: { initial: 'a', states }, y: { initial: 'a', states } },
  }),
  'parallel states within a state': kit.createMachine({
    ...base,
    states: {
      a: {
        type: 'parallel',
        states: { x: { initial: 'a', states }, y: { initial: 'a', states } },
        on: { B: 'b' },
      },
      b: { on: { A: 'a' } },
    },
  }),
  'a chart without states': kit.createMachine({ context, on: { A: { actions: 'add' } } }),
  history: kit.createMachine({
    ...base,
    states: {
      a: { initial: 'a', states: { ...states, h: { type: 'history' } }, on: { B: 'c' } },
      c: { on: { B: 'a.h' } },
    },
  }),
  'any event': kit.createMachine({ ...base, states, on: { '*': { actions: 'add' } } as never }),
  'any event of a kind': kit.createMachine({ ...base, states, on: { 'X.*': { actions: 'add' } } as never }),
  "events of XState's own": kit.createMachine({
    ...{ ...base, states },
    on: { 'xstate.error.actor.x': { guard: 'isOdd', actions: 'add' } } as never,
  }),
  'a step to two states at once': kit.createMachine({
    ...{ ...base, states: { ...states, c: {} } },
    on: { B: { target: ['.b', '.c'] as never } },
  }),
  'a final state within a state': kit.createMachine({
    ...base,
    states: {
      a: { initial: 'go', states: { go: { on: { A: 'end' } }, end: { type: 'final' } }, onDone: 'b' },
      b: { on: { A: 'a' } },
    },
  }),
  'a final state within a state without onDone': kit.createMachine({
    ...base,
    states: {
      a: { initial: 'go', states: { go: { on: { A: 'end' } }, end: { type: 'final' } }, on: { B: 'a' } },
    },
  }),
  'an output': createMachine({
    ...{ id: 'm', initial: 'a', output: { all: 'done' } },
    states: { a: { on: { A: 'b' } }, b: { type: 'final' } },
  }),
  'an output of its final state': createMachine({
    ...{ id: 'm', initial: 'a' },
    states: { a: { on: { A: 'b' } }, b: { type: 'final', output: 'done' } },
  }),
  delays: kit.createMachine({ ...base, states: { ...states, b: { on: { A: 'a' }, after: { 1000: 'a' } } } }),
  'an actor that a state runs': createMachine({
    ...{ id: 'm', initial: 'a' },
    states: { a: { on: { A: 'b' } }, b: { on: { A: 'a' }, invoke: { src: child } } },
  }),
  'events that it raises': createMachine({ ...base, states, on: { B: { actions: raise({ type: 'A' }) } } }),
  'events that it sends': createMachine({
    ...{ ...base, states },
    on: { B: { actions: sendTo(({ self }) => self, { type: 'A' }) } },
  }),
  'actions that enqueue others': createMachine({
    ...{ ...base, states },
    on: { B: { actions: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'A' })) } },
  }),
  'custom actions': createMachine({ ...base, states, on: { B: { actions: own } } }),
  'actions without an implementation': createMachine({ ...base, states, on: { B: { actions: 'unheard' } } }),
  'custom actions at the exit of a state': createMachine({
    ...base,
    states: { ...states, b: { on: { A: 'a' }, exit: own } },
  }),
  'guards composed of guards': createMachine({
    ...{ ...base, states },
    on: { B: { guard: and([({ context }) => context.n === 0]), actions: assign({ n: 1 }) } },
  }),
  'guards that depend on the present state': createMachine({
    ...{ ...base, states },
    on: { B: { guard: stateIn('b'), actions: assign({ n: 1 }) } },
  }),
  'a limit of its microsteps': createMachine({ ...base, states, options: { maxIterations: 50 } }),
};

/** A chart of nested states with whatever a table understands, at random. */
export function randomChart(chance: Seeded): AnyStateMachine {
  const ids: string[] = ['#m'];
  const shape = (id: string, depth: number): object[] =>
    Array.from({ length: chance.whole(1, 3) }, (_, i) => {
      const own = `${id}.s${i}`;
      ids.push(own);
      return { id: own, inner: depth < 2 && chance.chance(0.5) ? shape(own, depth + 1) : [] };
    });
  const roots = shape('#m', 0);
  const actions = (more: 'zero'[] = []) =>
    Array.from({ length: chance.below(3) }, (_, i) =>
      chance.pick([note(`note ${i}`), say(`say ${i}`), 'add', 'sigh', 'nothing', ...more]),
    );
  const guard = () => chance.pick([{}, {}, { guard: 'isOdd' }, { guard: below(chance.below(6)) }]);
  const move = () => ({
    ...guard(),
    actions: actions(['zero']),
    ...(chance.chance(0.75) ? { target: chance.pick(ids), reenter: chance.chance(0.3) } : {}),
  });
  // Steps without an event have to come to an end: each counts, up to a limit.
  const always = () => {
    if (!chance.chance(0.2)) return {};
    return { always: [{ guard: below(12), actions: ['add', ...actions()], target: chance.pick(ids) }] };
  };
  const on = () =>
    Object.fromEntries(WORDS.filter(() => chance.chance(0.4)).map((type) => [type, [move(), move()]]));
  const around = (id: string) => ({
    entry: [note(`in ${id}`), ...actions()],
    exit: [note(`out ${id}`), ...actions()],
  });
  const config = ({ id, inner }: { id: string; inner: never[] }, depth: number): object => {
    if (depth === 0 && inner.length === 0 && id !== '#m.s0' && chance.chance(0.2)) {
      return { ...around(id), type: 'final', tags: [id] };
    }
    return { ...around(id), on: on(), ...always(), tags: [id], ...nested(inner, depth + 1) };
  };
  const nested = (inner: never[], depth: number): object =>
    inner.length === 0
      ? {}
      : {
          initial: { target: `s${chance.below(inner.length)}`, actions: actions() },
          states: Object.fromEntries(inner.map((state, i) => [`s${i}`, config(state, depth)])),
        };
  const root = { id: 'm', context, ...around('root'), on: on(), ...nested(roots as never[], 0) };
  const chart: unknown = kit.createMachine(root as never);
  return chart as AnyStateMachine;
}
