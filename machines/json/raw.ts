/**
 * JSON as text. "Numbers are text until someone computes" (docs/protocol.md#bodies): what a user wrote must reach
 * the analysis unchanged, so documents are cut and joined here as text and never rebuilt from parsed values.
 * All functions but `parseTolerant` expect valid JSON: `JSON.parse` it first.
 */

/** A piece of JSON text that `compose` copies as it is. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  /** The parsed value, for those who compute. */
  parse(): unknown {
    return JSON.parse(this.text);
  }
  /** For `JSON.stringify`; `compose` is quicker, and keeps the digits. */
  toJSON(): unknown {
    return this.parse();
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const BRACE = 123;
const END_BRACE = 125;
const BRACKET = 91;
const END_BRACKET = 93;
const isSpace = (code: number) => code === 32 || code === 10 || code === 13 || code === 9;

/** The index behind the string literal that starts at `start`. */
export function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (; ; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE || Number.isNaN(code)) return i + 1;
  }
}

/** The index of the first character from `start` on that is no white space. */
export function skipSpace(text: string, start: number): number {
  let i = start;
  while (isSpace(text.charCodeAt(i))) i++;
  return i;
}

/** The index behind the value that starts at `start`. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first !== BRACE && first !== BRACKET) return endOfWord(text, start);
  const nested = { at: start, depth: 0 };
  goThrough(text, nested, text.length);
  return nested.at;
}

/** Characters that are gone through without a break: some milliseconds. */
const AT_ONCE = 2 ** 20;

/** The same, with a break after every so many characters. */
function* endOfLongValue(text: string, start: number): Generator<void, number> {
  const first = text.charCodeAt(start);
  if (first !== BRACE && first !== BRACKET) return endOfValue(text, start);
  const nested = { at: start, depth: 0 };
  while (!goThrough(text, nested, nested.at + AT_ONCE)) yield;
  return nested.at;
}

/** Goes on with an object or array up to about `until`; whether that was its end. */
function goThrough(text: string, nested: { at: number; depth: number }, until: number): boolean {
  const { length } = text;
  let { at: i, depth } = nested;
  while (i < until && i < length) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else {
      i++;
      // Of millions of characters, most are those of numbers.
      if (code < BRACKET) continue;
      if (code === BRACE || code === BRACKET) depth++;
      else if ((code === END_BRACE || code === END_BRACKET) && --depth === 0) {
        nested.at = i;
        return true;
      }
    }
  }
  nested.at = i;
  nested.depth = depth;
  return i >= length;
}

/** A number, `true`, `false` or `null`. */
function endOfWord(text: string, start: number): number {
  let i = start;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === COMMA || code === END_BRACE || code === END_BRACKET || isSpace(code)) break;
  }
  return i;
}

/** The members of a JSON object as text, in the order written; a repeated key keeps its last value. */
export const members = (text: string): Map<string, string> => atOnce(membersInSteps(text));

/** The elements of a JSON array as text; of anything else, none. */
export const elements = (text: string): string[] => atOnce(elementsInSteps(text));

function atOnce<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** The members of an object that may be very long, with a break after every so many characters. */
export function* membersInSteps(text: string): Generator<void, Map<string, string>> {
  const found = new Map<string, string>();
  let i = skipSpace(text, 0);
  if (text[i] !== '{') return found;
  i = skipSpace(text, i + 1);
  for (let pause = AT_ONCE; i < text.length && text[i] !== '}'; ) {
    const keyEnd = endOfString(text, i);
    const literal = text.slice(i + 1, keyEnd - 1);
    const key = literal.includes('\\') ? (JSON.parse(`"${literal}"`) as string) : literal;
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = text.length > AT_ONCE ? yield* endOfLongValue(text, start) : endOfValue(text, start);
    found.set(key, text.slice(start, end));
    i = skipSpace(text, end);
    if (text[i] === ',') i = skipSpace(text, i + 1);
    if (i < pause) continue;
    yield;
    pause = i + AT_ONCE;
  }
  return found;
}

/** The same for the elements of an array. */
export function* elementsInSteps(text: string): Generator<void, string[]> {
  const found: string[] = [];
  let i = skipSpace(text, 0);
  if (text[i] !== '[') return found;
  i = skipSpace(text, i + 1);
  for (let pause = AT_ONCE; i < text.length && text[i] !== ']'; ) {
    const end = text.length > AT_ONCE ? yield* endOfLongValue(text, i) : endOfValue(text, i);
    found.push(text.slice(i, end));
    i = skipSpace(text, end);
    if (text[i] === ',') i = skipSpace(text, i + 1);
    if (i < pause) continue;
    yield;
    pause = i + AT_ONCE;
  }
  return found;
}

/** The text at a path of member names and element numbers, or undefined. */
export function at(text: string, ...path: (string | number)[]): string | undefined {
  let here: string | undefined = text;
  for (const step of path) {
    if (here === undefined) return undefined;
    here = typeof step === 'number' ? elements(here)[step] : members(here).get(step);
  }
  return here;
}

/** The same document without the white space between its tokens. */
export function compact(text: string): string {
  let out = '';
  let from = 0;
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else if (isSpace(code)) {
      out += text.slice(from, i);
      i = skipSpace(text, i);
      from = i;
    } else i++;
  }
  return out + text.slice(from);
}

/** Serialises a value in which `RawJson` pieces may stand, at any depth; undefined members are left out. */
export function compose(value: unknown): string {
  if (typeof value === 'string') return literal(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => compose(item)).join(',')}]`;
  const members = value as Record<string, unknown>;
  let text = '';
  for (const key of Object.keys(members)) {
    const member = members[key];
    if (member !== undefined) text += `${text === '' ? '' : ','}${literal(key)}:${compose(member)}`;
  }
  return `{${text}}`;
}

/** Longer texts are quoted as quickly by `JSON.stringify`, which for ids and names takes many times longer. */
const SHORT = 100;
/** What a literal has to escape. */
const ODD = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;
const literal = (text: string): string =>
  text.length <= SHORT && !ODD.test(text) ? `"${text}"` : JSON.stringify(text);

/** A JSON object's text with further members behind its own; those that are undefined are left out. */
export function withMembers(text: string, added: Readonly<Record<string, unknown>>): string {
  const more = compose(added);
  if (text === '{}' || more === '{}') return text === '{}' ? more : text;
  return `${text.slice(0, -1)},${more.slice(1)}`;
}

/** A JSON object's text in which a member has another value, or a further one; the others stay as they are written. */
export const withMember = (text: string, name: string, value: unknown): string =>
  objectOf(members(text), name, value);

/** The text of an object of these members, of which one has another value. */
export function objectOf(all: ReadonlyMap<string, string>, name: string, value: unknown): string {
  const changed = new Map(all).set(name, compose(value));
  return `{${[...changed].map(([key, member]) => `${JSON.stringify(key)}:${member}`).join(',')}}`;
}

/**
 * Parses JSON in which bare `NaN`, `Infinity` and `-Infinity` may stand, as Python's json module writes them;
 * they are read as null (docs/protocol.md#bodies). Throws `SyntaxError` like `JSON.parse`.
 */
export function parseTolerant(text: string): unknown {
  // A number may also be too large to be finite.
  const reviver = /[eE]\+?\d{3}|\d{309}/.test(text) ? finiteOrNull : undefined;
  try {
    return JSON.parse(text, reviver);
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error;
    return JSON.parse(nullForNonFinite(text), reviver);
  }
}

const finiteOrNull = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? null : value;

function nullForNonFinite(text: string): string {
  let out = '';
  let from = 0;
  for (let i = 0; i < text.length; ) {
    const char = text[i];
    if (char === '"') i = endOfString(text, i);
    else if (char === 'N' || char === 'I' || char === '-') {
      const word = ['NaN', 'Infinity', '-Infinity'].find((w) => text.startsWith(w, i));
      if (word) {
        out += `${text.slice(from, i)}null`;
        i += word.length;
        from = i;
      } else i++;
    } else i++;
  }
  return out + text.slice(from);
}
