/** A list that a person can read: the first five, and how many more. */
export function few(items: readonly (string | number)[]): string {
  const rest = items.length - 5;
  return `${items.slice(0, 5).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
