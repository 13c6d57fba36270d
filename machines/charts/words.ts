/**
 * A guard, action or delay in words: its name, or for XState's combinators what they combine. Inline functions
 * have no name that means anything; the machines use none.
 */
export function wordsFor(reference: unknown): string {
  if (typeof reference === 'string' || typeof reference === 'number') return String(reference);
  if (typeof reference === 'function') return combinator(reference as Combinator);
  if (typeof reference === 'object' && reference !== null && 'type' in reference)
    return wordsFor(reference.type);
  return '';
}

interface Combinator {
  name: string;
  guards?: unknown[];
  stateValue?: unknown;
}

/** XState's `and`, `or`, `not` and `stateIn` are functions that carry what they were made from. */
function combinator({ name, guards, stateValue }: Combinator): string {
  if (stateValue !== undefined)
    return `in ${typeof stateValue === 'string' ? stateValue : JSON.stringify(stateValue)}`;
  const parts = (guards ?? []).map(wordsFor);
  if (name === 'not') return `not ${parts[0] ?? ''}`;
  if (parts.length > 0) return parts.join(name === 'or' ? ' or ' : ' and ');
  return name;
}
