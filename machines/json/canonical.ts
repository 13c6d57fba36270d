import { createHash } from 'node:crypto';
import { elements, members } from './raw.ts';

/**
 * The canonical form of a JSON text, as `json.dumps(json.loads(text), sort_keys=True,
 * separators=(",", ":"), ensure_ascii=True)` gives it in Python, from which clients compute fingerprints
 * (contract, "Fingerprint").
 */
export function canonicalJson(text: string): string {
  const value = text.trim();
  const first = value[0];
  if (first === '{') {
    const sorted = [...members(value)].sort(([a], [b]) => byCodePoint(a, b));
    return `{${sorted.map(([key, member]) => `${asciiString(key)}:${canonicalJson(member)}`).join(',')}}`;
  }
  if (first === '[') return `[${elements(value).map(canonicalJson).join(',')}]`;
  if (first === '"') return asciiString(JSON.parse(value) as string);
  return /^-?\d/.test(value) ? pythonNumber(value) : value;
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
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => {
    // Python's encoder escapes what is not ASCII; DEL (0x7f) is ASCII and stays.
    return unit === '\u007f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A JSON number the way Python prints it: integers in full, floats as `repr` does. */
function pythonNumber(source: string): string {
  if (/^-?\d+$/.test(source)) return source === '-0' ? '0' : source;
  const value = Number(source);
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (Object.is(value, -0)) return '-0.0';
  if (value === 0) return '0.0';
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
