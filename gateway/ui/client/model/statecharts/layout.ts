import { Graph, layout } from '@dagrejs/dagre';
import type { Chart, ChartArrow, ChartState } from '../../../../../machines/charts/graph.ts';
import { clipped, type Point, type Rect } from './geometry.ts';
import { anchorOf, childrenOf, isAround, labelLines, labelOf, linesOf } from './reading.ts';

/** A state to draw; a rectangle with its lines of text from the top. */
export interface Box extends Rect {
  state: ChartState;
  /** What it invokes, and the arrows that stay within it. */
  lines: string[];
  /** It holds others. */
  frame: boolean;
  depth: number;
}

/** All arrows from one state to another, drawn as one. */
export interface Line {
  from: string;
  to: string;
  points: Point[];
  labels: string[];
  label: Rect;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  lines: Line[];
}

/** In pixels; the letters are those of a font of fixed width. */
export const SIZES = { letter: 6.7, line: 15, title: 22, badge: 34, margin: 16 } as const;

const textWidth = (text: string): number => text.length * SIZES.letter;

/**
 * Where everything of a chart stands. Dagre lays out the states without children and the frames around them; arrows
 * of a frame go to the state that it begins with and are cut at its edge. Dagre leaves no room for the titles of
 * frames, so it is put in afterwards: whatever is below a frame's upper edge moves down by it.
 */
export function drawingOf(chart: Chart): Drawing {
  const texts = new Map(chart.states.map((state) => [state.id, linesOf(chart, state)]));
  const groups = grouped(chart);
  const graph = laidOut(chart, groups, texts);
  const isFrame = ({ id }: ChartState) => childrenOf(chart, id).length > 0;
  const headings = new Map<number, number>();
  for (const state of chart.states.filter(isFrame)) {
    const { y, height } = graph.node(state.id) as Rect;
    const top = y - height / 2;
    headings.set(top, Math.max(headings.get(top) ?? 0, headingOf(texts.get(state.id) ?? [])));
  }
  const down = (y: number): number => {
    let moved = y;
    for (const [top, room] of headings) if (y > top) moved += room;
    return moved;
  };
  const boxes = chart.states.map((state): Box => {
    const lines = texts.get(state.id) ?? [];
    const { x, y, width, height } = graph.node(state.id) as Rect;
    const common = { state, lines, depth: state.id.split('.').length - 1 };
    if (!isFrame(state)) {
      const size = sizeOf(state, lines);
      return { ...common, ...size, x: x - size.width / 2, y: down(y) - size.height / 2, frame: false };
    }
    const top = down(y - height / 2);
    return { ...common, x: x - width / 2, y: top, width, height: down(y + height / 2) - top, frame: true };
  });
  const lines = groups.map((group) => lineOf(group, graph, boxes, down));
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width: Math.ceil(width), height: Math.ceil(down(height)), boxes, lines };
}

interface Group {
  from: string;
  to: string;
  labels: string[];
  /** Names of the nodes that dagre connects. */
  tail: string;
  head: string;
}

/** Dagre's name for the place within a state where its arrows to states within it begin. */
const gateOf = (id: string): string => `${id} gate`;
/** And for the place below all that a state holds, where the arrows that leave it as a whole begin. */
const exitOf = (id: string): string => `${id} exit`;

function grouped(chart: Chart): Group[] {
  const groups = new Map<string, Group>();
  const add = ({ from, to, ...arrow }: ChartArrow) => {
    if (from === to) return;
    const key = `${from} ${to}`;
    const label = labelOf(arrow);
    const group = groups.get(key);
    if (group) {
      if (!group.labels.includes(label)) group.labels.push(label);
      return;
    }
    const whole = childrenOf(chart, from).length > 0;
    const tail = isAround(from, to) ? gateOf(from) : whole ? exitOf(from) : from;
    // What an exit leads to lies below, and comes back the short way.
    const back = chart.arrows.some((other) => other.from === to && other.to === from);
    const head = back && childrenOf(chart, to).length > 0 ? exitOf(to) : anchorOf(chart, to);
    groups.set(key, { from, to, labels: [label], tail, head });
  };
  chart.arrows.forEach(add);
  return [...groups.values()];
}

function laidOut(chart: Chart, groups: readonly Group[], texts: ReadonlyMap<string, string[]>): Graph {
  const graph = new Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 28, edgesep: 12, ranksep: 30, marginx: 8, marginy: 8 });
  for (const state of chart.states) {
    const size = sizeOf(state, texts.get(state.id) ?? []);
    graph.setNode(state.id, { ...size, width: Math.max(size.width, headingWidth(chart, state, texts)) });
  }
  for (const { tail, from } of groups) {
    if (tail !== gateOf(from) || graph.hasNode(tail)) continue;
    graph.setNode(tail, { width: 8, height: 8 });
    graph.setParent(tail, from);
  }
  for (const { tail, from } of groups) if (tail === exitOf(from)) addExit(graph, chart, from);
  for (const { id, parent } of chart.states) if (parent !== null) graph.setParent(id, parent);
  for (const { tail, head, labels, from, to } of groups) {
    const rows = labels.flatMap(labelLines);
    const width = Math.max(...rows.map(textWidth)) + 6;
    const label = { width, height: rows.length * SIZES.line + 2, labelpos: 'c' };
    graph.setEdge(tail, head, label, `${from} ${to}`);
  }
  layout(graph);
  return graph;
}

function addExit(graph: Graph, chart: Chart, id: string): void {
  const exit = exitOf(id);
  if (graph.hasNode(exit)) return;
  graph.setNode(exit, { width: 8, height: 2 });
  graph.setParent(exit, id);
  for (const state of chart.states) {
    const inside = isAround(id, state.id) && childrenOf(chart, state.id).length === 0;
    if (inside) graph.setEdge(state.id, exit, { weight: 0, minlen: 1, width: 0, height: 0 }, 'above');
  }
}

const headingOf = (lines: readonly string[]): number => SIZES.title + lines.length * SIZES.line;

function sizeOf({ key, type }: ChartState, lines: readonly string[]): { width: number; height: number } {
  const title = textWidth(key) * 1.12 + SIZES.badge;
  const width = Math.max(64, title, ...lines.map(textWidth)) + SIZES.margin;
  return { width, height: headingOf(lines) + (type === 'final' ? 12 : 8) };
}

/** A frame is as wide as what it holds, so the state that it begins with keeps the room for its heading. */
function headingWidth(chart: Chart, state: ChartState, texts: ReadonlyMap<string, string[]>): number {
  const around = chart.states.filter(({ id }) => isAround(id, state.id) && anchorOf(chart, id) === state.id);
  return Math.max(0, ...around.map((frame) => sizeOf(frame, texts.get(frame.id) ?? []).width));
}

function lineOf(group: Group, graph: Graph, boxes: readonly Box[], down: (y: number) => number): Line {
  const { from, to, labels, tail, head } = group;
  const edge = graph.edge(tail, head, `${from} ${to}`) as Rect & { points: Point[] };
  const centre = (name: string): Point => {
    const { x, y } = graph.node(name) as Point;
    return { x, y: down(y) };
  };
  const moved = edge.points.slice(1, -1).map(({ x, y }) => ({ x, y: down(y) }));
  const box = (id: string) => boxes.find(({ state }) => state.id === id) as Box;
  const points = [centre(tail), ...moved, centre(head)];
  return {
    from,
    to,
    labels,
    points: clipped(points, isAround(from, to) ? null : box(from), box(to)),
    label: {
      x: edge.x - edge.width / 2,
      y: down(edge.y) - edge.height / 2,
      width: edge.width,
      height: edge.height,
    },
  };
}
