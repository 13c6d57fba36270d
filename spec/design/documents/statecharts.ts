import type { AnyStateMachine } from 'xstate';
import { drawMachine } from '../../../gateway/contract/machine-views.ts';
import { MACHINES } from '../../../machines/charts/catalogue.ts';
import { chartOf } from '../../../machines/charts/graph.ts';
import { MACHINE_NAMES, type MachineName } from '../../../machines/charts/names.ts';

/** Every statechart as a diagram, drawn from the machine that runs. */
export const statecharts = (): string => MACHINE_NAMES.map(diagramOf).join('\n');

function diagramOf(name: MachineName): string {
  const { machine, what } = MACHINES[name];
  return `## \`${name}\`\n\nThis is ${what}.\n\n\`\`\`mermaid\n${drawMachine(name, 'mermaid')}\`\`\`\n${anywhere(machine)}`;
}

/** What the machine takes in every state, for which Mermaid has no arrow. */
function anywhere(machine: AnyStateMachine): string {
  const { arrows } = chartOf(machine);
  const words = arrows
    .filter(({ from }) => from === machine.id)
    .map(({ from, to, event, guard }) => {
      const target = to === from ? '' : ` → ${to.slice(from.length + 1)}`;
      return `\`${event}${guard === null ? '' : ` [${guard}]`}${target}\``;
    });
  return words.length === 0 ? '' : `\nIn every state: ${words.join(', ')}.\n`;
}
