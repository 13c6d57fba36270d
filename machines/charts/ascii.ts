import type { Chart, ChartState } from './graph.ts';

/** A chart as an indented text: each state with the arrows that leave it. */
export function asciiOf(chart: Chart): string {
  const short = (id: string): string => id.slice(id.indexOf('.') + 1);
  const lines: string[] = [];
  const write = (state: ChartState, depth: number): void => {
    const indent = '  '.repeat(depth);
    const marks = [
      state.initial ? '→' : '',
      state.type === 'final' ? '◉' : '',
      state.type === 'parallel' ? '∥' : '',
    ];
    const mark = marks.filter((m) => m !== '').join('');
    const invokes = state.invokes.length > 0 ? `  (${state.invokes.join(', ')})` : '';
    lines.push(`${indent}${mark === '' ? '' : `${mark} `}${state.key}${invokes}`);
    for (const arrow of chart.arrows.filter(({ from }) => from === state.id)) {
      const guard = arrow.guard ? ` [${arrow.guard}]` : '';
      const to = arrow.to === arrow.from ? '(stays)' : `→ ${short(arrow.to)}`;
      lines.push(`${indent}    ${arrow.event}${guard} ${to}`);
    }
    for (const child of chart.states.filter(({ parent }) => parent === state.id)) write(child, depth + 1);
  };
  const root = chart.states.find((state) => state.parent === null);
  if (root) write(root, 0);
  return `${lines.join('\n')}\n`;
}
