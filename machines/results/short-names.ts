/** Between the steps of a pipeline (machines/ranking/steps.ts). */
const BETWEEN = ' » ';

/**
 * Names for a picture, of at most so many characters, that tell apart what their ends or beginnings do: steps that all have
 * are left out of all, and what is still too long is cut where the most of them differ.
 */
export function shortNames(names: readonly string[], most: number): string[] {
  if (names.every((name) => name.length <= most)) return [...names];
  const parts = withoutCommon(names);
  const begin = commonStart(parts);
  const cuts = [
    (name: string) => `${name.slice(0, most - 1)}…`,
    (name: string) => `${name.slice(0, Math.floor(most / 2))}…${name.slice(1 - Math.ceil(most / 2))}`,
    (name: string) => {
      const from = `…${name.slice(begin)}`;
      return from.length > most ? `${from.slice(0, most - 1)}…` : from;
    },
    (name: string) => `…${name.slice(1 - most)}`,
  ].map((cut) => parts.map((name) => (name.length > most ? cut(name) : name)));
  const different = cuts.map((cut) => new Set(cut).size);
  return cuts[different.indexOf(Math.max(...different))] as string[];
}

/** Without the steps that are in every one, each run of which becomes an ellipsis. */
function withoutCommon(names: readonly string[]): string[] {
  const lists = names.map((name) => name.split(BETWEEN));
  const common = new Set(lists[0]?.filter((step) => lists.every((list) => list.includes(step))));
  if (common.size === 0 || lists.some((list) => list.every((step) => common.has(step)))) return [...names];
  return lists.map((list) =>
    list
      .map((step) => (common.has(step) ? '…' : step))
      .filter((step, i, all) => step !== '…' || all[i - 1] !== '…')
      .join(BETWEEN),
  );
}

/** How many characters all begin with. */
function commonStart(names: readonly string[]): number {
  const [first = ''] = names;
  let length = first.length;
  for (const name of names) while (!name.startsWith(first.slice(0, length))) length--;
  return length;
}
