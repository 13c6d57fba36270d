import { stripVTControlCharacters } from 'node:util';

/** Control characters, and the format characters that reorder or hide text. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(char: string): string {
  const code = char.charCodeAt(0);
  const hex = code.toString(16);
  return SHORT[char] ?? (code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`);
}

/**
 * Text from outside (names, labels, messages), fit for one line of a terminal: whatever could drive the
 * terminal or disguise the text is shown as an escape.
 */
export function plain(text: unknown): string {
  return String(text).replace(UNSAFE, escaped);
}

/**
 * Output of a program, line by line. Its colours are dropped, a carriage return (a progress bar that redraws
 * itself) begins a new line, tabs stay; everything else that could drive the terminal is shown as an escape.
 */
export function plainLines(text: string): string[] {
  const unified = stripVTControlCharacters(text).replace(/\r\n?/g, '\n').replace(/\n+$/, '');
  return unified.split('\n').map((line) => line.replace(UNSAFE, (c) => (c === '\t' ? c : escaped(c))));
}
