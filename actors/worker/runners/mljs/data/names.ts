import { few } from './words.ts';

/** Rows of the same name are measurements of one sample, or a mistake: afterwards nobody can tell one from another. */
export function tellSameNames(
  source: string,
  names: readonly (string | null)[],
  warn: (text: string) => void,
): void {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  const several = [...counts].filter(([, count]) => count > 1);
  if (several.length === 0) return;
  const told = few(several.map(([name, count]) => `"${name}" (${count} rows)`));
  warn(`${source}: samples of the same name, which results do not tell apart: ${told}`);
}
