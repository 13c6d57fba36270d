const KIB = 1024;

/**
 * What texts, lists and maps may hold at most (docs/protocol.md#limits): characters and members of what is submitted or
 * registered, bytes of UTF-8 of what is reported. A submission beyond a limit is refused; a report is cut.
 */
export const LIMITS = {
  /** Characters. */
  type: 100,
  name: 1000,
  key: 200,
  value: 1000,
  path: 4096,
  note: 10_000,
  tag: 100,
  /** Tags of a job. */
  tags: 20,
  /** Members of a map: labels, package constraints, capabilities that a job asks for. */
  members: 200,
  /** Unknown fields that are warned about one by one. */
  warnings: 50,
  /** Bytes of what a worker declares of itself. */
  declared: 256 * KIB,
  /** Bytes of a failure. */
  error: 16 * KIB,
  traceback: 64 * KIB,
  /** Bytes of an event. */
  message: 64 * KIB,
  data: 256 * KIB,
  /** Numbers that a result's `metrics` hold, and as many its `counts`; roles that its `artifacts` name. */
  numbers: 1000,
  /** Metrics of which a job may rank by one. */
  rankMetrics: 4,
  /** Bytes of a result's `extra`, and as many of its members that nobody here knows, all together. */
  extra: 1024 * KIB,
} as const;

const encoder = new TextEncoder();

/** Bytes of a text in UTF-8. Counted here, since pages in a browser share this floor. */
export function bytesOf(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Three bytes above U+07FF, but the two halves of a surrogate pair take four together.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

/** Whether a text takes at most `most` bytes. */
function fits(text: string, most: number): boolean {
  // A UTF-16 unit takes three bytes at most.
  return text.length * 3 <= most || bytesOf(text) <= most;
}

/** Room for the sentence that says how much was left out. */
const MARKER = 64;

/**
 * A text of at most `most` bytes: longer ones are cut between two characters, and say how much was left out. Takes time
 * in proportion to the text.
 */
export function cutText(text: string, most: number): string {
  if (fits(text, most)) return text;
  const bytes = bytesOf(text);
  const { read, written } = encoder.encodeInto(text, new Uint8Array(Math.max(0, most - MARKER)));
  return `${text.slice(0, read)}… (${bytes - written} more bytes were left out)`;
}

/** What was left out of an object, in words, under a name of its own. */
export const LEFT_OUT = 'left_out';
/** Names that such words repeat, and characters of each. */
const NAMED = { most: 10, longest: 100 };

/**
 * An object that takes at most `most` bytes as JSON: its members are kept in their order as far as there is room for
 * them, and a member `left_out` says how many were not, how large they were, and what they are called.
 */
export function fitObject(
  value: Readonly<Record<string, unknown>>,
  most: number,
): { value: Readonly<Record<string, unknown>>; leftOut: string | null } {
  // As it is nearly always, and this is on the way of every report.
  if (fits(JSON.stringify(value), most)) return { value, leftOut: null };
  const entries = Object.entries(value);
  const sizes = entries.map(([key, member]) => sizeOf(key, member));
  const kept: [string, unknown][] = [];
  const names: string[] = [];
  let left = 0;
  let room = most - 2 - (NAMED.most * NAMED.longest * 3 + MARKER);
  for (const [i, entry] of entries.entries()) {
    const size = sizes[i] as number;
    if (size <= room) {
      room -= size;
      kept.push(entry);
    } else {
      left += size;
      names.push(entry[0]);
    }
  }
  const leftOut = `${names.length} member(s) of ${left} bytes: ${shown(names)}`;
  return { value: Object.fromEntries([...kept, [LEFT_OUT, leftOut]]), leftOut };
}

/** Bytes of a member as JSON, its comma and colon among them. */
const sizeOf = (key: string, member: unknown): number =>
  bytesOf(JSON.stringify(key)) + bytesOf(JSON.stringify(member) ?? 'null') + 2;

/** Names for people, the first few of them. */
export function shown(names: readonly string[]): string {
  const first = names.slice(0, NAMED.most).map((name) => cutName(name));
  return names.length > first.length ? `${first.join(', ')}, …` : first.join(', ');
}

/** A name as a sentence repeats it. */
function cutName(name: string): string {
  if (name.length <= NAMED.longest) return name;
  // Half a surrogate pair has no form in UTF-8.
  return `${name.slice(0, NAMED.longest - 1).replace(/\p{Cs}$/u, '')}…`;
}
