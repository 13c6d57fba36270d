import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventTypes } from './event-types.ts';
import { fields, queries } from './fields.ts';
import { metricsTable, serverMetrics, workerProgramMetrics } from './metrics.ts';
import { exitCodes, programExitCodes, roles, serverFlags, workerFlags } from './programs.ts';
import { errors, limits, routesTable } from './protocol.ts';
import { statecharts } from './statecharts.ts';
import { table } from './table.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What documents have from the code: the name of the part, the document, and what makes its text. */
export const PARTS: Readonly<Record<string, { document: string; make: () => string }>> = {
  statecharts: { document: 'docs/statecharts.md', make: statecharts },
  routes: { document: 'docs/protocol.md', make: routesTable },
  errors: { document: 'docs/protocol.md', make: errors },
  limits: { document: 'docs/protocol.md', make: limits },
  events: { document: 'docs/protocol.md', make: () => eventTypes(ROOT) },
  queries: { document: 'docs/reference.md', make: queries },
  fields: { document: 'docs/reference.md', make: fields },
  'metrics of jq-server': { document: 'docs/metrics.md', make: () => metricsTable(serverMetrics()) },
  'metrics of jq-worker': { document: 'docs/metrics.md', make: () => metricsTable(workerProgramMetrics()) },
  'exit codes': { document: 'docs/analysts.md', make: exitCodes },
  'exit codes of programs': { document: 'docs/operations.md', make: programExitCodes },
  'flags of jq-server': { document: 'docs/operations.md', make: serverFlags },
  'flags of jq-worker': { document: 'docs/operations.md', make: workerFlags },
  roles: { document: 'docs/operations.md', make: roles },
  decisions: { document: 'docs/decisions/README.md', make: decisions },
};

const END = '<!-- made: end -->';
const begin = (name: string) => `<!-- made by npm run docs: ${name} -->`;

/** Every record by its number, with its title, and the number of the one that replaces it. */
function decisions(): string {
  const names = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => /^\d{4}-/.test(name));
  const rows = names.sort().map((name) => {
    const text = readFileSync(join(ROOT, 'docs/decisions', name), 'utf8');
    const [title = ''] = text.split('\n');
    const [, by] = /^\*\*Replaced\*\* by \[[^\]]*\]\((\d{4})-/m.exec(text) ?? [];
    const replaced = by === undefined ? '' : `, replaced by ${Number(by)}`;
    return [String(Number(name.slice(0, 4))), `[${title.replace(/^# /, '')}](${name})${replaced}`];
  });
  return table(['No.', 'Decision'], rows);
}

/** A document with one part made anew. What stands around it stays. */
export function withPart(document: string, name: string, text: string): string {
  const from = document.indexOf(begin(name));
  const to = document.indexOf(END, from);
  if (from < 0 || to < from) throw new Error(`the document has no place for: ${begin(name)} … ${END}`);
  return `${document.slice(0, from)}${begin(name)}\n\n${text.trim()}\n\n${document.slice(to)}`;
}

/** Every document that has parts made from the code, as it should be, by its path below the repository. */
export function documentsMade(): Map<string, string> {
  const made = new Map<string, string>();
  for (const [name, { document, make }] of Object.entries(PARTS)) {
    const text = made.get(document) ?? readFileSync(join(ROOT, document), 'utf8');
    made.set(document, withPart(text, name, make()));
  }
  return made;
}
