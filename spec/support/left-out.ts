import { relative } from 'node:path';
import { ROOT } from './program.ts';
import { readReason } from './requires.ts';

/** A specification, or a whole group of them, that did not run. */
export interface LeftOut {
  name: string;
  /** Relative to the repository. */
  file: string;
  /** In the words of whoever left it out; empty where there are none. */
  reason: string;
}

export const readLeftOut = (text: string): LeftOut[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const { name, file, reason } = JSON.parse(line) as LeftOut;
      return { name, file: relative(ROOT, file), reason };
    });

/**
 * What was left out and why, as the last lines of a run.
 * @param mayLack needs that this machine may lack; null where it may lack any
 * @returns also which of them are not among these, or were left out for no declared need
 */
export function summarise(leftOut: readonly LeftOut[], mayLack: readonly string[] | null) {
  if (leftOut.length === 0) return { lines: ['left out: nothing'], unexpected: [] };
  const groups = new Map<string, LeftOut[]>();
  for (const one of leftOut) groups.set(one.reason, [...(groups.get(one.reason) ?? []), one]);
  const lines = [`left out: ${leftOut.length} specifications, or groups of them`];
  for (const [reason, members] of groups) {
    lines.push(`  ${members.length}: ${reason || 'without a reason'}`);
    lines.push(...members.map(({ name, file }) => `    ${file}: ${name}`));
  }
  const unexpected = leftOut.filter(({ reason }) => {
    const read = readReason(reason);
    return read === null || (mayLack !== null && !mayLack.includes(read.need));
  });
  if (unexpected.length > 0) lines.push(`${unexpected.length} of these had to run here`);
  return { lines, unexpected };
}
