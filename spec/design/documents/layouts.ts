/**
 * Works out where everything of a statechart stands, with the Eclipse Layout Kernel, for everything that may be shown
 * of it. That takes half a second each and a library larger than the dashboard, so that it is done when the documents
 * are made, and the page has the numbers.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import elkjs, { type ElkExtendedEdge, type ElkNode, type ElkPoint } from 'elkjs/lib/elk.bundled.js';
import {
  type Layout,
  type Layouts,
  layoutName,
  type Point,
  packedLine,
} from '../../../gateway/ui/client/model/statecharts/drawing.ts';
import {
  type Group,
  isCollapsible,
  type Outline,
  outlineOf,
} from '../../../gateway/ui/client/model/statecharts/outline.ts';
import { childrenOf, isAround } from '../../../gateway/ui/client/model/statecharts/reading.ts';
import { labelSize, sizeOf } from '../../../gateway/ui/client/model/statecharts/sizes.ts';
import { MACHINES } from '../../../machines/charts/catalogue.ts';
import { type Chart, type ChartState, chartOf } from '../../../machines/charts/graph.ts';
import { MACHINE_NAMES } from '../../../machines/charts/names.ts';
import { ROOT } from './parts.ts';

export const LAYOUTS = 'gateway/ui/client/model/statecharts/layouts.json';

/** What a layout follows from, beside the chart. */
const MAKERS = [
  'spec/design/documents/layouts.ts',
  'gateway/ui/client/model/statecharts/outline.ts',
  'gateway/ui/client/model/statecharts/sizes.ts',
];

/** What tells whether the layouts of a chart are those that would be made now. */
export function madeOf(chart: Chart): string {
  const hash = createHash('sha256').update(JSON.stringify(chart));
  for (const maker of MAKERS) hash.update(readFileSync(join(ROOT, maker)));
  return hash.digest('hex').slice(0, 16);
}

export const layoutsNow = (): Layouts => JSON.parse(readFileSync(join(ROOT, LAYOUTS), 'utf8')) as Layouts;

/** The file of all layouts, as it should be: those that are up to date as they are, the others made anew. */
export async function layoutsMade(known: Layouts): Promise<string> {
  const machines: string[] = [];
  for (const name of MACHINE_NAMES) {
    const chart = chartOf(MACHINES[name].machine);
    const made = madeOf(chart);
    const before = known[name];
    const layouts = before?.made === made ? before.layouts : await layoutsOf(chart);
    const rows = Object.entries(layouts).map(
      ([shown, layout]) => `${JSON.stringify(shown)}:${JSON.stringify(layout)}`,
    );
    machines.push(`${JSON.stringify(name)}:{"made":"${made}","layouts":{\n${rows.join(',\n')}}}`);
  }
  return `{${machines.join(',\n')}}\n`;
}

/** Every choice of states that may be closed at once. */
export function closings(chart: Chart): string[][] {
  const below = (state: ChartState): string[][] => {
    const open = childrenOf(chart, state.id).reduce<string[][]>(
      (sets, child) => sets.flatMap((set) => below(child).map((more) => [...set, ...more])),
      [[]],
    );
    return isCollapsible(chart, state) ? [...open, [state.id]] : open;
  };
  return below(chart.states[0] as ChartState);
}

async function layoutsOf(chart: Chart): Promise<Record<string, Layout>> {
  const layouts: Record<string, Layout> = {};
  for (const detailed of [false, true]) {
    for (const collapsed of closings(chart)) {
      const outline = outlineOf(chart, { collapsed, detailed });
      layouts[layoutName(outline, detailed)] = await layoutOf(chart, outline);
    }
  }
  return layouts;
}

// Its types are those of a module with a default export, which it is not.
const elk = new (elkjs as unknown as typeof elkjs.default)();

/** Also of everything that holds others: it is not handed down. */
const PLACEMENT = { 'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX' };

const OPTIONS = {
  ...PLACEMENT,
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.padding': '[top=8,left=8,bottom=8,right=8]',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '2',
  'elk.spacing.labelLabel': '4',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '10',
};

async function layoutOf(chart: Chart, outline: Outline): Promise<Layout> {
  const nodes = new Map<string, ElkNode>();
  const [machine] = outline.states;
  const asked: ElkNode = {
    id: '',
    layoutOptions: OPTIONS,
    children: [nodeOf(chart, outline, machine as ChartState)],
    edges: outline.groups.map(edgeOf(outline)),
  };
  const laid: ElkNode = await elk.layout(asked);
  const visit = (node: ElkNode) => {
    nodes.set(node.id, node);
    node.children?.forEach(visit);
  };
  visit(laid);
  const boxes = outline.states.flatMap(({ id }) => rectOf(nodes.get(id) as ElkNode));
  const lines = outline.groups.map((group, i) => lineOf(laid.edges?.[i] as ElkExtendedEdge, outline, group));
  return [Math.ceil(laid.width ?? 0), Math.ceil(laid.height ?? 0), boxes, lines];
}

function nodeOf(chart: Chart, outline: Outline, state: ChartState): ElkNode {
  const { id } = state;
  const size = sizeOf(state, outline.lines.get(id) ?? [], isCollapsible(chart, state));
  if (!outline.frames.has(id)) return { id, ...size };
  return {
    id,
    children: outline.states.filter(({ parent }) => parent === id).map((one) => nodeOf(chart, outline, one)),
    layoutOptions: {
      ...PLACEMENT,
      'elk.padding': `[top=${size.height + 12},left=16,bottom=16,right=16]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${size.width},${size.height})`,
    },
  };
}

const edgeOf =
  (outline: Outline) =>
  (group: Group, i: number): ElkExtendedEdge => {
    const ends = isBack(outline, group) ? [group.to, group.from] : [group.from, group.to];
    const [source = '', target = ''] = ends;
    const label = {
      text: ' ',
      ...labelSize(group.words),
      layoutOptions: { 'elk.edgeLabels.inline': 'true' },
    };
    return { id: `arrow ${i}`, sources: [source], targets: [target], labels: [label] };
  };

/**
 * Whether an arrow leads back to what a machine lists before. The layout puts the head of an arrow below its tail, so
 * such a one is laid out the other way round: a chart begins at the top with what it begins with.
 */
function isBack({ states }: Outline, { from, to }: Group): boolean {
  if (isAround(from, to) || isAround(to, from)) return false;
  const [tail, head] = [from.split('.'), to.split('.')];
  const depth = tail.findIndex((part, i) => part !== head[i]) + 1;
  const placeOf = (path: string[]) => states.findIndex(({ id }) => id === path.slice(0, depth).join('.'));
  return placeOf(tail) > placeOf(head);
}

const rectOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<ElkNode>): number[] =>
  [x, y, width, height].map(Math.round);

function lineOf({ labels, sections }: ElkExtendedEdge, outline: Outline, group: Group): number[] {
  const [section] = sections ?? [];
  if (!section || !labels?.[0]) throw new Error(`no way was found from ${group.from} to ${group.to}`);
  const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
  if (isBack(outline, group)) points.reverse();
  const [x = 0, y = 0, width = 0, height = 0] = rectOf(labels[0]);
  return packedLine({
    points: withoutRepeats(points.map((one: ElkPoint) => ({ x: Math.round(one.x), y: Math.round(one.y) }))),
    label: { x, y, width, height },
  });
}

/** Points that rounding has put on one another, or between two others on a straight line, are left out. */
function withoutRepeats(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  for (const point of points) {
    const [before, last] = [kept.at(-2), kept.at(-1)];
    if (last && last.x === point.x && last.y === point.y) continue;
    const isStraight = (axis: 'x' | 'y') => before?.[axis] === last?.[axis] && last?.[axis] === point[axis];
    if (before && (isStraight('x') || isStraight('y'))) kept.pop();
    kept.push(point);
  }
  return kept;
}
