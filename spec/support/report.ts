import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPORT = join(dirname(fileURLToPath(import.meta.url)), '../REPORT.md');

/**
 * Writes the figures of one long run into its section of `spec/REPORT.md`; the other sections stay as they are.
 * @param name the section's heading, which is also how it is found again
 * @param body Markdown
 */
export function writeSection(name: string, body: string): void {
  const [head = '', ...sections] = readFileSync(REPORT, 'utf8').split(/^(?=## )/m);
  const ours = `## ${name}\n\n${body.trim()}\n\n`;
  const others = sections.filter((section) => !section.startsWith(`## ${name}\n`));
  const all = [...others, ours].map((section) => `${section.trim()}\n`).sort();
  writeFileSync(REPORT, `${head.trim()}\n\n${all.join('\n')}`);
}

/** Date, commit-independent facts of the machine: what a figure means nothing without. */
export function machineLine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, Node.js ${process.versions.node}, ${processors.length} × ${processors[0]?.model ?? 'unknown processor'}, ${memory} GiB.`;
}
