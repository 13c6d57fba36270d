/** What servers on one store have to be told alike, by what people call it: flags, and the credentials of principals. */
export type Configuration = Readonly<Record<string, string>>;

/** What one of two servers was told otherwise than the other, or alone, by name. */
export function differences(one: Configuration, other: Configuration): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => one[name] !== other[name]).sort();
}
