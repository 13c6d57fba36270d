import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Box,
  drawingOf,
  type Line,
  type Rect,
} from '../../gateway/ui/client/model/statecharts/drawing.ts';
import { isAround } from '../../gateway/ui/client/model/statecharts/reading.ts';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { chartOf } from '../../machines/charts/graph.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { closings, layoutsNow, madeOf } from '../design/documents/layouts.ts';

const within = (inner: Rect, outer: Rect): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const overlap = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** How far a point is from the edge of a rectangle. */
function distance({ x, y, width, height }: Rect, point: { x: number; y: number }): number {
  const dx = Math.max(x - point.x, 0, point.x - x - width);
  const dy = Math.max(y - point.y, 0, point.y - y - height);
  if (dx > 0 || dy > 0) return Math.hypot(dx, dy);
  return Math.min(point.x - x, x + width - point.x, point.y - y, y + height - point.y);
}

/** Everything in a picture that would mislead who reads it. */
function* faultsIn(boxes: readonly Box[], lines: readonly Line[]) {
  const boxOf = (id: string) => boxes.find(({ state }) => state.id === id) as Box;
  for (const box of boxes) {
    const { id, parent } = box.state;
    if (parent !== null && !within(box, boxOf(parent))) yield `${id} is not within ${parent}`;
    for (const other of boxes) {
      const apart = !isAround(other.state.id, id) && !isAround(id, other.state.id);
      if (other !== box && apart && overlap(box, other)) yield `${id} lies on ${other.state.id}`;
    }
  }
  for (const { from, to, points, label } of lines) {
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last || points.length < 2) yield `${from} → ${to} has no line`;
    else {
      if (distance(boxOf(from), first) > 1.5) yield `${from} → ${to} begins elsewhere`;
      if (distance(boxOf(to), last) > 1.5) yield `${from} → ${to} ends elsewhere`;
    }
    for (const [i, { x, y }] of points.entries()) {
      const next = points[i + 1];
      if (next && Math.min(Math.abs(next.x - x), Math.abs(next.y - y)) > 2)
        yield `${from} → ${to} goes askew`;
    }
    for (const box of boxes)
      if (!box.frame && overlap(label, box)) yield `the label of ${from} → ${to} lies on ${box.state.id}`;
  }
}

describe('the layouts of the statecharts', () => {
  for (const name of MACHINE_NAMES) {
    const chart = chartOf(MACHINES[name].machine);
    const known = layoutsNow()[name];

    it(`of ${name} are those of the machine that runs`, () => {
      assert.equal(known?.made, madeOf(chart), 'they are out of date; make them anew with: npm run docs');
    });

    it(`of ${name} are there for everything that may be closed, and show each state and arrow apart`, () => {
      const choices = closings(chart);
      assert.equal(Object.keys(known?.layouts ?? {}).length, 2 * choices.length);
      for (const detailed of [false, true]) {
        for (const collapsed of choices) {
          const drawing = drawingOf(chart, { collapsed, detailed }, known?.layouts ?? {});
          assert.ok(drawing, `${collapsed} ${detailed}`);
          assert.deepEqual([...faultsIn(drawing.boxes, drawing.lines)], [], `${collapsed} ${detailed}`);
          for (const { x, y, width, height } of drawing.boxes)
            assert.ok(x >= 0 && y >= 0 && x + width <= drawing.width && y + height <= drawing.height);
        }
      }
    });
  }

  it('draw nothing of a chart that they were not made of', () => {
    const chart = chartOf(MACHINES.task.machine);
    const layouts = layoutsNow().task?.layouts ?? {};
    const [state] = chart.states;
    const other = { ...chart, states: [...chart.states, { ...(state as object), id: 'task.new' } as never] };
    assert.equal(drawingOf(other, { collapsed: [], detailed: false }, layouts), null);
  });
});
