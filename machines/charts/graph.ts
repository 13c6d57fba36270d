import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { wordsFor } from './words.ts';

/** A state of a chart. */
export interface ChartState {
  id: string;
  key: string;
  type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** The state that holds it; null for the machine itself. */
  parent: string | null;
  /** Whether its parent begins with it. */
  initial: boolean;
  /** Names of what is invoked while it is active. */
  invokes: string[];
  /** Names of the actions that entering it takes, and leaving it. */
  entry: string[];
  exit: string[];
}

/** An arrow of a chart. */
export interface ChartArrow {
  from: string;
  /** The same as `from` where the state stays and only actions run. */
  to: string;
  /** `LEASE`; for what follows by itself `always`, `done: name`, `error: name` or `after: name`. */
  event: string;
  guard: string | null;
  actions: string[];
}

export interface Chart {
  states: ChartState[];
  arrows: ChartArrow[];
}

/** A machine as states and arrows, from the definition that runs. */
export function chartOf(machine: AnyStateMachine): Chart {
  const chart: Chart = { states: [], arrows: [] };
  visit(machine.root, chart);
  return chart;
}

function visit(node: AnyStateNode, chart: Chart): void {
  const { parent } = node;
  chart.states.push({
    id: node.id,
    key: node.key,
    type: node.type,
    parent: parent?.id ?? null,
    initial: parent !== undefined && node.id === initialOf(parent),
    invokes: node.invoke.map(({ src }: { src: unknown }) => wordsFor(src)),
    entry: namesOf(node.entry),
    exit: namesOf(node.exit),
  });
  for (const transitions of [...node.transitions.values(), node.always ?? []]) {
    for (const transition of transitions) chart.arrows.push(...arrows(node, transition));
  }
  for (const child of Object.values(node.states) as AnyStateNode[]) visit(child, chart);
}

function initialOf(node: AnyStateNode): string | undefined {
  const target = node.type === 'compound' ? node.initial?.target[0] : undefined;
  return typeof target === 'object' ? target.id : undefined;
}

function arrows(
  node: AnyStateNode,
  { target, guard, actions, eventType }: AnyTransitionDefinition,
): ChartArrow[] {
  const targets = target?.map((state: AnyStateNode) => state.id) ?? [node.id];
  const common = {
    from: node.id,
    event: eventName(eventType, node),
    guard: guard === undefined ? null : wordsFor(guard),
    actions: namesOf(actions),
  };
  return targets.map((to: string) => ({ ...common, to }));
}

const namesOf = (actions: readonly unknown[]): string[] =>
  actions.map(wordsFor).filter((name) => name !== '');

/** What XState calls `xstate.done.actor.0.run.starting` is, for people, that `reportStart` is done. */
function eventName(eventType: string, node: AnyStateNode): string {
  if (eventType === '') return 'always';
  for (const [prefix, word] of [
    ['xstate.done.actor.', 'done'],
    ['xstate.error.actor.', 'error'],
  ] as const) {
    if (!eventType.startsWith(prefix)) continue;
    const id = eventType.slice(prefix.length);
    const invoked = node.invoke.find((invocation: { id: string }) => invocation.id === id);
    return `${word}: ${invoked ? wordsFor(invoked.src) : id}`;
  }
  const after = /^xstate\.after\.([^.]+)/.exec(eventType);
  return after ? `after: ${after[1]}` : eventType;
}
