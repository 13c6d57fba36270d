import type { Chart, ChartArrow, ChartState } from '../../../../../machines/charts/graph.ts';
import { childrenOf, isAround, labelOf } from './reading.ts';

/** How much of a chart is drawn: states whose inside is hidden, and whether guards and actions are written. */
export interface Shown {
  /** Ids of states that are drawn closed. */
  collapsed: readonly string[];
  detailed: boolean;
}

/** All arrows from one drawn state to another, drawn as one. */
export interface Group {
  from: string;
  to: string;
  arrows: ChartArrow[];
  /** What is written at it, line by line. */
  words: string[];
}

/** What is drawn of a chart. Its order is that of the numbers in a layout. */
export interface Outline {
  states: ChartState[];
  /** Those that are drawn closed. */
  closed: readonly string[];
  /** Of the states those that are drawn with others in them. */
  frames: ReadonlySet<string>;
  groups: Group[];
  /** What is written in a state, by its id: what runs while it is active, and what leaves it where it is. */
  lines: ReadonlyMap<string, string[]>;
}

/** A nested state with fewer in it is hardly smaller when it is closed, and each that may be doubles the layouts of its chart. */
const LEAST_INSIDE = 4;

/** Whether a state has others in it and may be closed: those right in the machine, and below them the large ones. */
export function isCollapsible(chart: Chart, { id, parent }: ChartState): boolean {
  if (parent === null) return false;
  const inside = chart.states.filter((inner) => isAround(id, inner.id)).length;
  return inside >= LEAST_INSIDE || (inside > 0 && parent === chart.states[0]?.id);
}

/** The closed states that are drawn: those that are in no other closed one, in the order of the chart. */
export function drawnClosed(chart: Chart, collapsed: readonly string[]): string[] {
  const closed = chart.states.filter((state) => collapsed.includes(state.id) && isCollapsible(chart, state));
  return closed.map(({ id }) => id).filter((id) => !closed.some((other) => isAround(other.id, id)));
}

/** Where a state is seen: itself, or the closed one that hides it. */
export const seenAt = (closed: readonly string[], id: string): string =>
  closed.find((outer) => isAround(outer, id)) ?? id;

export function outlineOf(chart: Chart, { collapsed, detailed }: Shown): Outline {
  const closed = drawnClosed(chart, collapsed);
  const states = chart.states.filter(({ id }) => seenAt(closed, id) === id);
  const frames = new Set(
    states.filter(({ id }) => !closed.includes(id) && childrenOf(chart, id).length > 0).map(({ id }) => id),
  );
  return {
    states,
    closed,
    frames,
    groups: groupsOf(chart, closed).map((group) => ({ ...group, words: wordsOf(group.arrows, detailed) })),
    lines: new Map(states.map((state) => [state.id, linesOf(chart, state, detailed)])),
  };
}

function groupsOf(chart: Chart, closed: readonly string[]): Omit<Group, 'words'>[] {
  const groups = new Map<string, Omit<Group, 'words'>>();
  for (const arrow of chart.arrows) {
    const [from, to] = [seenAt(closed, arrow.from), seenAt(closed, arrow.to)];
    if (from === to) continue;
    const key = `${from} ${to}`;
    const group = groups.get(key) ?? { from, to, arrows: [] };
    group.arrows.push(arrow);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function linesOf(chart: Chart, state: ChartState, detailed: boolean): string[] {
  const { id, invokes, entry, exit } = state;
  const staying = chart.arrows.filter(({ from, to }) => from === id && to === id);
  return [
    ...invokes.map((name) => `runs ${name}`),
    ...(detailed ? [...folded('entry / ', entry), ...folded('exit / ', exit)] : []),
    ...wordsOf(staying, detailed).map((words) => (isContinued(words) ? words : `${words} ↺`)),
  ];
}

const isContinued = (words: string): boolean => words.startsWith('/ ') || words.startsWith('[');

/** Arrows side by side need as much room as their labels. */
const LETTERS = 22;

/** What is written at arrows: their events, each once; in detail each with its guard and its actions. */
function wordsOf(arrows: readonly ChartArrow[], detailed: boolean): string[] {
  if (!detailed) return [...new Set(arrows.map(({ event }) => event))];
  return arrows.flatMap((arrow) => [...labelLines(labelOf(arrow)), ...folded('/ ', arrow.actions)]);
}

/** The label of an arrow on one line, or on two with its guard on the second. */
function labelLines(label: string): string[] {
  const guard = label.indexOf(' [');
  return guard < 0 || label.length <= LETTERS ? [label] : [label.slice(0, guard), label.slice(guard + 1)];
}

/** Actions on as many lines as they need. */
function folded(before: string, actions: readonly string[]): string[] {
  const lines: string[] = [];
  for (const [i, action] of actions.entries()) {
    const word = i < actions.length - 1 ? `${action},` : action;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= LETTERS + before.length)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${before}${word}`);
  }
  return lines;
}
