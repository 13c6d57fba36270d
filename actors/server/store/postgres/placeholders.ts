/** A statement as PostgreSQL takes it, and the name that it is prepared by in a session. */
export interface Named {
  name: string;
  text: string;
}

const known = new Map<string, Named>();

/** @param text parameters as `?` in order, or as `?1`, `?2`; nothing else in it is a question mark */
export function named(text: string): Named {
  let found = known.get(text);
  if (found === undefined) {
    let last = 0;
    const numbered = text.replace(/\?(\d*)/g, (_, number) => `$${number === '' ? ++last : number}`);
    found = { name: `jq_${known.size + 1}`, text: numbered };
    known.set(text, found);
  }
  return found;
}
