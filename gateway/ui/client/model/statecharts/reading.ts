import type { Chart, ChartArrow, ChartState } from '../../../../../machines/charts/graph.ts';

/** Questions about a chart, and its parts in words. */
export const childrenOf = (chart: Chart, id: string): ChartState[] =>
  chart.states.filter(({ parent }) => parent === id);

export const isAround = (outer: string, inner: string): boolean => inner.startsWith(`${outer}.`);

/** The innermost state that a state begins with; of regions side by side, that of the first. */
export function anchorOf(chart: Chart, id: string): string {
  const children = childrenOf(chart, id);
  const first = children.find(({ initial }) => initial) ?? children[0];
  return first ? anchorOf(chart, first.id) : id;
}

/** `FAIL [mayRetryFailure]`; its guard as UML writes it. */
export const labelOf = ({ event, guard }: Pick<ChartArrow, 'event' | 'guard'>): string =>
  guard === null ? event : `${event} [${guard}]`;

/** Letters beside an arrow; arrows side by side need as much room as their labels. */
const LABEL_LETTERS = 18;

/** The label of an arrow on one line, or on two with its guard on the second. */
export function labelLines(label: string): string[] {
  const guard = label.indexOf(' [');
  if (guard < 0 || label.length <= LABEL_LETTERS) return [label];
  return [label.slice(0, guard), label.slice(guard + 1)];
}

/** What is written in a state: what runs while it is active, and the events that leave it where it is. */
export function linesOf(chart: Chart, { id, invokes }: ChartState): string[] {
  const staying = chart.arrows.filter(({ from, to }) => from === id && to === id).map(labelOf);
  return [...invokes.map((name) => `runs ${name}`), ...new Set(staying.map((label) => `${label} ↺`))];
}

/** The name of a state within its machine; that of the machine itself for the outermost. */
export const shortId = (id: string): string => id.slice(id.indexOf('.') + 1);
