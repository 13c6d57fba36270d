import { isUtf8 } from 'node:buffer';

/** How many bytes are looked at to tell UTF-16 without a byte order mark. */
const SAMPLE = 4096;

/**
 * Decodes a text file as instruments and spreadsheets write it. A byte order mark decides; without one, text that has
 * a zero in every other byte is UTF-16, what is valid UTF-8 is UTF-8, and the rest is Windows-1252, of which Latin-1
 * is a part.
 */
export function decodeText(bytes: Buffer): string {
  return new TextDecoder(encodingOf(bytes)).decode(bytes);
}

/** What begins so is no text, whatever its name says. */
const FORMATS: readonly (readonly [begins: string, what: string])[] = [
  ['PK\u0003\u0004', 'a workbook or an archive'],
  ['\u00d0\u00cf\u0011\u00e0', 'a workbook of older versions of Excel'],
  ['%PDF', 'a PDF'],
  ['\u001f\u008b', 'compressed'],
  ['<', 'a web page or XML'],
];

/** What a file is that was renamed to be a table; null where it may be text. */
export function otherFormat(bytes: Buffer): string | null {
  const head = bytes.subarray(0, 512).toString('latin1').trimStart();
  return FORMATS.find(([begins]) => head.startsWith(begins))?.[1] ?? null;
}

function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  const sample = bytes.subarray(0, SAMPLE);
  for (const [i, byte] of sample.entries()) if (byte === 0) zeros[i % 2] = (zeros[i % 2] as number) + 1;
  const [even, odd] = zeros as [number, number];
  // Digits and delimiters, which such files consist of, have their zero always on the same side.
  if (odd > sample.length / 4 && even === 0) return 'utf-16le';
  if (even > sample.length / 4 && odd === 0) return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}
