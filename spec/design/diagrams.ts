import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { drawMachine } from '../../gateway/machine-views.ts';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { chartOf } from '../../machines/charts/graph.ts';
import { MACHINE_NAMES, type MachineName } from '../../machines/charts/names.ts';

export const README = fileURLToPath(new URL('../../README.md', import.meta.url));
const BEGIN = '<!-- diagrams: made from the code by `npm run diagrams` -->';
const END = '<!-- diagrams: end -->';

/** A document with its diagrams drawn anew, from the machines that run. What stands around them stays. */
export function withDiagrams(document: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the document has no place for diagrams: ${BEGIN} … ${END}`);
  const diagrams = MACHINE_NAMES.map(diagramOf);
  return `${document.slice(0, begin)}${BEGIN}\n\n${diagrams.join('\n')}\n${document.slice(end)}`;
}

function diagramOf(name: MachineName): string {
  const { machine, what } = MACHINES[name];
  return `**\`${name}\`**, ${what}:\n\n\`\`\`mermaid\n${drawMachine(name, 'mermaid')}\`\`\`\n${anywhere(machine)}`;
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(README, withDiagrams(await readFile(README, 'utf8')));
}
