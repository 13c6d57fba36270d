import { relative } from 'node:path';
import { ROOT } from './program.ts';
import { isOfNeed } from './requires.ts';

/** A specification, or a whole group of them, that did not run, or that did not hold. */
export interface Outcome {
  what: 'left out' | 'failed';
  name: string;
  /** Relative to the repository. */
  file: string;
  /** In the words of whoever left it out, or of the error; empty where there are none. */
  reason: string;
}

export const readOutcomes = (text: string): Outcome[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const outcome = JSON.parse(line) as Outcome;
      return { ...outcome, file: relative(ROOT, outcome.file) };
    });

/**
 * What failed, and what was left out and why, as the last lines of a run.
 * @param all whether none may be left out
 * @returns also which were left out but had to run: all of them then, else those that declared no need
 */
export function summarise(outcomes: readonly Outcome[], all: boolean) {
  const failed = outcomes.filter(({ what }) => what === 'failed');
  const leftOut = outcomes.filter(({ what }) => what === 'left out');
  const unexpected = leftOut.filter(({ reason }) => all || !isOfNeed(reason));
  const lines = [...failedLines(failed), ...leftOutLines(leftOut)];
  if (unexpected.length > 0) lines.push(`${unexpected.length} of these had to run here`);
  return { lines, unexpected };
}

function failedLines(failed: readonly Outcome[]): string[] {
  if (failed.length === 0) return [];
  const list = failed.flatMap(({ file, name, reason }) => {
    const [first = ''] = reason.trim().split('\n');
    return [`  ${file}: ${name}`, `    ${first}`];
  });
  return [`failed: ${failed.length}`, ...list];
}

function leftOutLines(leftOut: readonly Outcome[]): string[] {
  if (leftOut.length === 0) return ['left out: nothing'];
  const groups = new Map<string, Outcome[]>();
  for (const one of leftOut) groups.set(one.reason, [...(groups.get(one.reason) ?? []), one]);
  const lines = [`left out: ${leftOut.length} specifications, or groups of them`];
  for (const [reason, members] of groups) {
    lines.push(`  ${members.length}: ${reason || 'without a reason'}`);
    lines.push(...members.map(({ name, file }) => `    ${file}: ${name}`));
  }
  return lines;
}
