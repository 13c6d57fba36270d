import type { Chart, ChartArrow, ChartState } from '../../../../../machines/charts/graph.ts';

/** Questions about a chart, and its parts in words. */
export const childrenOf = (chart: Chart, id: string): ChartState[] =>
  chart.states.filter(({ parent }) => parent === id);

export const isAround = (outer: string, inner: string): boolean => inner.startsWith(`${outer}.`);

/** `FAIL [isTriedAgain]`; its guard as UML writes it. */
export const labelOf = ({ event, guard }: Pick<ChartArrow, 'event' | 'guard'>): string =>
  guard === null ? event : `${event} [${guard}]`;

/** The name of a state within its machine; that of the machine itself for the outermost. */
export const shortId = (id: string): string => id.slice(id.indexOf('.') + 1);
