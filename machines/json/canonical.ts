import { createHash } from 'node:crypto';
import { endOfString, skipSpace } from './raw.ts';

const MAX_DEPTH = 1000;

/**
 * The canonical form of a JSON text, as `json.dumps(json.loads(text), sort_keys=True,
 * separators=(",", ":"), ensure_ascii=True)` gives it in Python, from which clients compute fingerprints
 * (docs/protocol.md#fingerprints). Throws `RangeError` where Python would, too: nested deeper than 1000 levels.
 */
export function canonicalJson(text: string): string {
  return new Reader(text).value();
}

/** One pass over the text: what a value costs does not grow with how deep it lies. */
class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): string {
    const first = this.#peek();
    if (first === '{' || first === '[') {
      if (++this.#depth > MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`);
      const composite = first === '{' ? this.#object() : this.#array();
      this.#depth--;
      return composite;
    }
    if (first === '"') return asciiString(this.#string());
    const word = this.#word();
    return /^-?\d/.test(word) ? pythonNumber(word) : word;
  }

  #object(): string {
    const members = new Map<string, string>();
    for (let next = this.#enter(); next !== undefined && next !== '}'; next = this.#next()) {
      const key = this.#string();
      this.#peek();
      this.#at++;
      members.set(key, this.value());
    }
    this.#at++;
    const sorted = [...members].sort(([a], [b]) => byCodePoint(a, b));
    return `{${sorted.map(([key, member]) => `${asciiString(key)}:${member}`).join(',')}}`;
  }

  #array(): string {
    const elements: string[] = [];
    for (let next = this.#enter(); next !== undefined && next !== ']'; next = this.#next())
      elements.push(this.value());
    this.#at++;
    return `[${elements.join(',')}]`;
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at);
    const value = JSON.parse(this.#text.slice(this.#at, end)) as string;
    this.#at = end;
    return value;
  }

  #word(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at] as string)) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  /** Steps over the opening bracket, to the first item or the closing bracket. */
  #enter(): string | undefined {
    this.#at++;
    return this.#peek();
  }

  /** Steps behind an item, to the next one or the closing bracket. */
  #next(): string | undefined {
    if (this.#peek() === ',') this.#at++;
    return this.#peek();
  }

  #peek(): string | undefined {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text[this.#at];
  }
}

/** `sha256:` and the hex digest over the canonical form of an inline pipeline's JSON text. */
export function jsonFingerprint(text: string): string {
  return `sha256:${createHash('sha256').update(canonicalJson(text), 'ascii').digest('hex')}`;
}

/** UTF-16 order and code point order differ above U+FFFF; Python sorts by code point. */
function byCodePoint(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function asciiString(value: string): string {
  // Python's encoder leaves what can be printed in ASCII; DEL (0x7f) cannot.
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A JSON number the way Python prints it: integers in full, floats as `repr` does. */
function pythonNumber(source: string): string {
  if (/^-?\d+$/.test(source)) return source === '-0' ? '0' : source;
  const value = Number(source);
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (Object.is(value, -0)) return '-0.0';
  const [digits, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  // CPython's repr switches to scientific notation below 1e-4 and from 1e16 on.
  if (power < -4 || power >= 16) {
    const sign = power < 0 ? '-' : '+';
    return `${digits}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  // Between 1e-6 and 1e-4 JavaScript prints plain digits as Python does, and up to 1e21 it never uses an exponent.
  const plain = String(value);
  return plain.includes('.') ? plain : `${plain}.0`;
}
