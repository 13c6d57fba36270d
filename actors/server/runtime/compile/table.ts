import type {
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  StateValue,
} from 'xstate';
import { type Action, actionOf, type Guard, guardOf, UnsupportedChart } from './parts.ts';

/** One way on: taken when its guard, if any, holds. */
export interface CompiledTransition {
  guard: Guard | null;
  /** In order: of the states that are left, of the transition, of the states that are entered. */
  actions: readonly Action[];
  to: Configuration;
}

/** A state in which the machine can stand, with those around it. */
export interface Configuration {
  /** What its snapshots have in common: all but the context. */
  resting: AnyMachineSnapshot;
  /** The same for an actor that came here by a step: XState lists the states of one that is done inside out. */
  reached: AnyMachineSnapshot;
  isFinal: boolean;
  /** For every event type of the chart what may be done, the first that may counts; empty: it is not taken. */
  on: ReadonlyMap<string, readonly CompiledTransition[]>;
  /** The same, without an event. */
  always: readonly CompiledTransition[];
}

/**
 * What a chart says, by configuration and event.
 *
 * @throws UnsupportedChart unless the chart is of atomic and compound states that assign and emit
 */
export function compile(machine: AnyStateMachine): Configuration[] {
  const nodes = withAllBelow(machine.root);
  checkMachine(machine);
  nodes.forEach(checkNode);
  const types = new Set(nodes.flatMap(({ on }) => Object.keys(on)));
  const leaves = nodes.filter(({ type }) => type !== 'compound');
  const configurations = new Map(leaves.map((leaf) => [leaf, emptyConfiguration(machine, leaf)]));
  const moveFrom = (leaf: AnyStateNode) => (transition: AnyTransitionDefinition) => {
    const { end, actions } = pathOf(leaf, transition);
    return {
      guard: guardOf(machine, transition.guard),
      actions: actions.map((action) => actionOf(machine, action)),
      to: configurations.get(end) as Configuration,
    };
  };
  for (const [leaf, configuration] of configurations) {
    // Inner states come before outer ones.
    const around = [leaf, ...above(leaf)];
    const candidates = (type: string) => around.flatMap(({ on }) => (on as Transitions)[type] ?? []);
    configuration.always = around.flatMap(({ always }) => always ?? []).map(moveFrom(leaf));
    for (const type of types) configuration.on.set(type, candidates(type).map(moveFrom(leaf)));
  }
  return [...configurations.values()];
}

type Transitions = Partial<Record<string, AnyTransitionDefinition[]>>;

function checkMachine({ root, options }: AnyStateMachine): void {
  if (root.type !== 'compound') throw new UnsupportedChart('a root without states');
  if (root.output !== undefined) throw new UnsupportedChart('an output');
  if (options.maxIterations !== undefined && options.maxIterations !== Number.POSITIVE_INFINITY)
    throw new UnsupportedChart('a limit to steps');
}

function checkNode(node: AnyStateNode): void {
  if (node.type === 'parallel' || node.type === 'history') throw new UnsupportedChart(node.type);
  if (node.invoke.length > 0) throw new UnsupportedChart('an invocation');
  // A final state inside another raises an event; the root's ends the machine.
  if (node.type === 'final' && (node.parent?.parent !== undefined || node.output !== undefined))
    throw new UnsupportedChart('a final state that says more than that all is over');
  // Delays and ends of states are events with names of XState's own.
  for (const type of Object.keys(node.on)) {
    if (type.includes('*') || type.startsWith('xstate.')) throw new UnsupportedChart(type);
  }
}

function emptyConfiguration(machine: AnyStateMachine, leaf: AnyStateNode) {
  const value = leaf.path.reduceRight<StateValue>(
    (below, key) => (below === '' ? key : { [key]: below }),
    '',
  );
  const resting = machine.resolveState({ value, context: {} });
  // They are shared by all snapshots.
  Object.freeze(resting.children);
  Object.freeze(resting.historyValue);
  const isFinal = leaf.type === 'final';
  const reached = isFinal ? { ...resting, _nodes: resting._nodes.toReversed() } : resting;
  return {
    resting,
    reached,
    isFinal,
    on: new Map<string, CompiledTransition[]>(),
    always: [] as CompiledTransition[],
  };
}

/** Where a transition leads from a leaf, and the actions on the way (SCXML's exit set and entry set). */
function pathOf(leaf: AnyStateNode, transition: AnyTransitionDefinition) {
  const { source, reenter, target: targets } = transition;
  const [target, more] = targets ?? [];
  if (more !== undefined) throw new UnsupportedChart('a transition to several states');
  if (target === undefined) return { end: leaf, actions: transition.actions };
  const domain = domainOf(transition, target);
  const isEntered = target !== source || source !== domain || reenter;
  const end = initialBelow(target);
  const left = [leaf, ...above(leaf)].filter((node) => isBelow(node, domain));
  const around = [end, ...above(end)];
  const entered = around.filter((node) => isBelow(node, domain) || (node === target && isEntered));
  const byDefault = (node: AnyStateNode) => node === target || isBelow(node, target);
  const actions = [
    ...left.flatMap(({ exit }) => exit),
    ...transition.actions,
    ...entered
      .reverse()
      .flatMap((node) => (byDefault(node) ? [...node.entry, ...node.initial.actions] : node.entry)),
    // Whoever comes to the end leaves everything.
    ...(end.type === 'final' ? around.flatMap(({ exit }) => exit) : []),
  ];
  return { end, actions };
}

/** The innermost state that a transition stays in; undefined when it leaves even the root. */
function domainOf(
  { source, reenter }: AnyTransitionDefinition,
  target: AnyStateNode,
): AnyStateNode | undefined {
  if (!reenter && (target === source || isBelow(target, source))) return source;
  const common = above(target).find((node) => isBelow(source, node));
  return common ?? (reenter ? undefined : source.machine.root);
}

/** The states around a state, from the inside out. */
function above(node: AnyStateNode): AnyStateNode[] {
  return node.parent === undefined ? [] : [node.parent, ...above(node.parent)];
}

/** Undefined stands for what is around the root, so that every node is below it. */
function isBelow(node: AnyStateNode, other: AnyStateNode | undefined): boolean {
  return other === undefined || above(node).includes(other);
}

function initialBelow(node: AnyStateNode): AnyStateNode {
  const [inner] = node.type === 'compound' ? (node.initial.target ?? []) : [];
  return inner === undefined ? node : initialBelow(inner as AnyStateNode);
}

function withAllBelow(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values<AnyStateNode>(node.states).flatMap(withAllBelow)];
}
