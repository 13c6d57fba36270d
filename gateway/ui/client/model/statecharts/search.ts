import type { Chart, ChartArrow, ChartState } from '../../../../../machines/charts/graph.ts';
import type { MachineName } from '../../../../../machines/charts/names.ts';
import type { Chosen } from './chart-view.ts';
import { labelOf, shortId } from './reading.ts';

/** Something of a chart that holds the words that are looked for. */
export interface Hit {
  machine: MachineName;
  chosen: Chosen;
  text: string;
  /** Where in it the words stand, when not in the text itself. */
  by: string;
}

const MOST = 40;

/** Whether it holds each of the words, whatever their case. */
const holds = (text: string, words: readonly string[]): boolean => {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
};

/**
 * States by their names and arrows by their events, then what has the words in a guard or an action; of the machine
 * that is shown first.
 */
export function search(
  machines: readonly { name: MachineName; chart: Chart }[],
  shown: MachineName,
  text: string,
): Hit[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const ordered = [...machines].sort((a, b) => Number(b.name === shown) - Number(a.name === shown));
  const hits = ordered.flatMap(({ name, chart }) => [
    ...chart.states.flatMap((state) => stateHit(name, state, words)),
    ...chart.arrows.flatMap((arrow) => arrowHit(name, arrow, words)),
  ]);
  const plain = hits.filter(({ by }) => by === '');
  return [...plain, ...hits.filter(({ by }) => by !== '')].slice(0, MOST);
}

function stateHit(machine: MachineName, state: ChartState, words: readonly string[]): Hit[] {
  const { id, invokes, entry, exit } = state;
  const hit = { machine, chosen: { state: id }, text: shortId(id), by: '' };
  if (holds(hit.text, words)) return [hit];
  const by = [...invokes, ...entry, ...exit].find((name) => holds(`${hit.text} ${name}`, words));
  return by === undefined ? [] : [{ ...hit, by }];
}

function arrowHit(machine: MachineName, arrow: ChartArrow, words: readonly string[]): Hit[] {
  const { from, to, event, actions } = arrow;
  const chosen = from === to ? { state: from } : { from, to };
  const way = from === to ? `in ${shortId(from)}` : `${shortId(from)} → ${shortId(to)}`;
  const hit = { machine, chosen, text: `${labelOf(arrow)} ${way}`, by: '' };
  if (holds(event, words)) return [hit];
  if (holds(hit.text, words) && arrow.guard !== null) return [{ ...hit, by: arrow.guard }];
  const by = actions.find((name) => holds(`${event} ${name}`, words));
  return by === undefined ? [] : [{ ...hit, by }];
}
