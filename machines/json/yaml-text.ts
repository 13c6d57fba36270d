import { elements, members } from './raw.ts';

/** Characters of a line, into which an object or array may fit as a whole. */
const WIDTH = 90;
/** What follows the key of a block may not be so far behind its beginning (YAML 1.2, 7.4.2). */
const LONGEST_KEY = 1000;
/** Words that are text without quotes: nothing that begins like a number, and no sign of YAML. */
const PLAIN = /^[\p{L}_/][\p{L}\p{N}_./+()%-]*( [\p{L}\p{N}_./+()%-]+)*$/u;
/** Words of some version of YAML that are values of their own. */
const RESERVED = /^(true|false|null|yes|no|on|off)$/i;
/** What JSON takes in quotes, and YAML does not, or as the end of a line. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\ufeff\ufffe\uffff]/gu;
/** Text in several lines that can stand as it is. */
const LINES = /^(?!\s)(?:\n|[^\p{Cc}\u2028\u2029\ufeff\ufffe\uffff])*(?<!\s)$/u;

/**
 * JSON as YAML 1.2 for people who read and change it: a member or element a line, unless several fit into one. Numbers
 * stay as they were written.
 */
export function yamlText(json: string): string {
  const text = json.trim();
  return `${(isLine(text) ? [inOneLine(text)] : blockOf(text, WIDTH)).join('\n')}\n`;
}

const isNested = (json: string): boolean => json[0] === '{' || json[0] === '[';

/** Whether a value has no other form than a line. */
const isLine = (json: string): boolean =>
  !isNested(json) ||
  /^.\s*.$/.test(json) ||
  (json[0] === '{' && [...members(json).keys()].some((key) => key.length > LONGEST_KEY));

function blockOf(json: string, width: number): string[] {
  if (json[0] === '[') return elements(json).flatMap((item) => behind('-', item, width));
  return [...members(json)].flatMap(([key, value]) => behind(`${scalar(key)}:`, value, width));
}

/** A value behind its key or dash. */
function behind(head: string, json: string, width: number): string[] {
  const written = json[0] === '"' ? asLines(JSON.parse(json) as string) : null;
  if (written !== null) return [`${head} |-`, ...written.map((line) => (line === '' ? '' : `  ${line}`))];
  const short = briefly(json, width - head.length - 1);
  if (short !== null) return [`${head} ${short}`];
  const [first = '', ...rest] = blockOf(json, width - 2);
  const below = rest.map((line) => (line === '' ? '' : `  ${line}`));
  return head === '-' ? [`- ${first}`, ...below] : [head, `  ${first}`, ...below];
}

/** A value in the line of its key; null where it is too long, and can be had in several. */
function briefly(json: string, room: number): string | null {
  if (isLine(json)) return inOneLine(json);
  const line = json.length <= 2 * room ? inOneLine(json) : null;
  return line !== null && line.length <= room ? line : null;
}

function inOneLine(json: string): string {
  if (json[0] === '[') return `[${elements(json).map(inOneLine).join(', ')}]`;
  if (json[0] === '"') return scalar(JSON.parse(json) as string);
  if (json[0] !== '{') return json;
  const all = [...members(json)].map(([key, value]) => `${scalar(key)}: ${inOneLine(value)}`);
  return all.length === 0 ? '{}' : `{ ${all.join(', ')} }`;
}

function scalar(text: string): string {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text;
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(UNPRINTABLE, escaped);
}

/** The lines of a text that is easier to read in several. */
const asLines = (text: string): string[] | null =>
  text.includes('\n') && LINES.test(text) ? text.split('\n') : null;
