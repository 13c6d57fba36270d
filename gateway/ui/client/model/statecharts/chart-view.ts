import { computed, signal } from '@preact/signals';
import type { Chart } from '../../../../../machines/charts/graph.ts';
import type { MachineName } from '../../../../../machines/charts/names.ts';
import { type Drawing, drawingOf, type Layouts } from './drawing.ts';
import layouts from './layouts.json';
import { isCollapsible } from './outline.ts';
import { isAround } from './reading.ts';

/** What of a chart the reader has pointed at: a state, or the arrows between two. */
export type Chosen = { state: string } | { from: string; to: string };

/** How large a chart is drawn: as a share of its full size, or so that all of it is in sight. */
export type Zoom = number | 'all';

export const ZOOMS = { least: 0.15, most: 4, step: 1.25 } as const;

/** How one chart is looked at: what is closed, what is written, how large, and what the reader has pointed at. */
export class ChartView {
  readonly name: MachineName;
  readonly collapsed = signal<readonly string[]>([]);
  /** Whether guards and actions are written in the picture. */
  readonly detailed = signal(false);
  readonly chosen = signal<Chosen | null>(null);
  readonly zoom = signal<Zoom | null>(null);
  /** The state that is to be brought into sight, anew each time. */
  readonly target = signal<{ state: string } | null>(null);
  readonly #chart = signal<{ made: string; chart: Chart }>({ made: '', chart: { states: [], arrows: [] } });
  /** Null where the page has no picture of this chart, being of another version than its server. */
  readonly drawing = computed((): Drawing | null =>
    drawingOf(
      this.#chart.value.chart,
      { collapsed: this.collapsed.value, detailed: this.detailed.value },
      (layouts as unknown as Layouts)[this.name]?.layouts ?? {},
    ),
  );
  readonly collapsible = computed(() =>
    this.#chart.value.chart.states.filter((state) => isCollapsible(this.#chart.value.chart, state)),
  );

  constructor(name: MachineName) {
    this.name = name;
  }

  /** The chart as the server tells it; mostly the same again. */
  learn(chart: Chart): void {
    const made = JSON.stringify(chart);
    if (made !== this.#chart.peek().made) this.#chart.value = { made, chart };
  }

  /** Closes a state, or opens it. */
  toggle(id: string): void {
    const closed = this.collapsed.peek();
    this.collapsed.value = closed.includes(id) ? closed.filter((one) => one !== id) : [...closed, id];
  }

  collapseAll(): void {
    this.collapsed.value = this.collapsible.peek().map(({ id }) => id);
  }

  expandAll(): void {
    this.collapsed.value = [];
  }

  /** Opens what hides a state, and brings it into sight. */
  reveal(id: string): void {
    const open = this.collapsed.peek().filter((closed) => !isAround(closed, id));
    if (open.length < this.collapsed.peek().length) this.collapsed.value = open;
    this.target.value = { state: id };
  }

  /** Points at something and brings it into sight. */
  choose(chosen: Chosen): void {
    this.chosen.value = chosen;
    if ('state' in chosen) this.reveal(chosen.state);
    else {
      this.reveal(chosen.to);
      this.reveal(chosen.from);
    }
  }
}
