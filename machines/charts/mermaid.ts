import type { Chart, ChartArrow, ChartState } from './graph.ts';

/** A chart as Mermaid's `stateDiagram-v2`, nested states and guards included. */
export function mermaidOf(chart: Chart): string {
  const root = chart.states.find((state) => state.parent === null);
  const lines = ['stateDiagram-v2'];
  if (root) lines.push(...inside(chart, root, '  '));
  for (const [ends, labels] of grouped(chart.arrows)) lines.push(`  ${ends} : ${labels.join('<br/>')}`);
  return `${lines.join('\n')}\n`;
}

const nameOf = (id: string): string => id.replaceAll('.', '_');

function inside(chart: Chart, parent: ChartState, indent: string): string[] {
  const children = chart.states.filter((state) => state.parent === parent.id);
  const lines = children.flatMap((state, i) => {
    const divided = parent.type === 'parallel' && i > 0 ? [`${indent}--`] : [];
    const nested = chart.states.some((other) => other.parent === state.id);
    const declared = `${indent}state "${state.key}" as ${nameOf(state.id)}`;
    const own = nested ? [`${declared} {`, ...inside(chart, state, `${indent}  `), `${indent}}`] : [declared];
    const begin = state.initial ? [`${indent}[*] --> ${nameOf(state.id)}`] : [];
    const end = state.type === 'final' ? [`${indent}${nameOf(state.id)} --> [*]`] : [];
    return [...divided, ...own, ...begin, ...end];
  });
  return lines;
}

/** One arrow a pair of states; its labels below each other. The machine itself has no arrows in Mermaid. */
function grouped(arrows: ChartArrow[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const arrow of arrows) {
    if (!arrow.from.includes('.')) continue;
    const ends = `${nameOf(arrow.from)} --> ${nameOf(arrow.to)}`;
    const label = arrow.guard ? `${arrow.event} [${arrow.guard}]` : arrow.event;
    const labels = groups.get(ends) ?? [];
    if (!labels.includes(labelText(label))) labels.push(labelText(label));
    groups.set(ends, labels);
  }
  return groups;
}

/** Colons and semicolons end a label in Mermaid; its own entities stand for them. */
const labelText = (label: string): string => label.replaceAll(';', '#59;').replaceAll(':', '#58;');
