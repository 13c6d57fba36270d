import { Option } from 'clipanion';
import { RawJson } from '../../machines/json/raw.ts';
import { secondsIn } from '../../machines/protocol/duration.ts';
import { didYouMean, nearest } from '../../machines/protocol/nearest.ts';
import { usageError } from './exit.ts';

type Env = Record<string, string | undefined>;
const DEFAULT_SERVER = 'http://127.0.0.1:8765';

/**
 * Flag, else environment, else default (docs/analysts.md#which-server); an empty variable counts as absent. Several are
 * separated by commas.
 */
export function serverAddress(flag: string | undefined, env: Env): string {
  const source = flag === undefined && env.JQ_SERVER ? 'JQ_SERVER' : '--server';
  const texts = (flag ?? (env.JQ_SERVER || DEFAULT_SERVER)).split(',');
  return texts.map((text) => httpAddress(source, text.trim())).join(',');
}

/** An address of http or https, without a slash at its end. @throws CliError for anything else */
export function httpAddress(source: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    const guess = /^[\w.-]+(:\d+)?$/.test(text)
      ? `did you mean http://${text}?`
      : `such as ${DEFAULT_SERVER}`;
    throw usageError(`${source}: '${text}' is not an http address; ${guess}`);
  }
  const address = url.origin + url.pathname.replace(/\/+$/, '');
  if (url.search || url.hash || url.username || url.password) {
    throw usageError(`${source}: '${text}' must be scheme, host, port and path alone, such as ${address}`);
  }
  return address;
}

interface Range {
  min?: number;
  max?: number;
  /** Refuses `min` itself. */
  above?: boolean;
}

/** A number of a flag. @throws CliError unless it is a finite number in its range */
export function number(name: string, text: string, { min = 0, max = Infinity, above }: Range = {}): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value) && (above ? value > min : value >= min) && value <= max) return value;
  throw usageError(`${name}: '${text}' is not a number ${bounds(min, max, above)}`);
}

/** A whole number of a flag. @throws CliError unless it is an integer in its range */
export function integer(name: string, text: string, { min = 0, max = Infinity }: Range = {}): number {
  const value = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw usageError(`${name}: '${text}' is not a whole number ${bounds(min, max)}`);
}

/** A priority of a flag. */
export const priorityOf = (text: string): number => integer('--priority', text, { min: -1e9, max: 1e9 });

/**
 * A time to come: RFC 3339, without a zone where this machine is, or seconds since the epoch.
 * @returns seconds since the epoch
 * @throws CliError for anything else
 */
export function time(name: string, text: string): number {
  const written = text.trim();
  if (/^[0-9]{9,11}([.][0-9]+)?$/.test(written)) return Number(written);
  const ms = /^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}/.test(written)
    ? Date.parse(written)
    : Number.NaN;
  if (!Number.isNaN(ms)) return ms / 1000;
  throw usageError(
    `${name}: '${text}' is not a time, such as 2026-11-29T18:00:00Z, nor seconds since the epoch`,
  );
}

/**
 * A moment: so long ago, as `7d`, or a date or time of RFC 3339, a date being its first moment where this machine is.
 * @returns seconds since the epoch
 * @throws CliError for anything else
 */
export function moment(name: string, text: string): number {
  const ago = secondsIn(text);
  if (ago !== null) return Date.now() / 1000 - ago;
  const written = text.trim();
  const isDate = /^\d{4}-\d\d-\d\d$/.test(written);
  const at = /^\d{4}-\d\d-\d\d([T ]|$)/.test(written)
    ? Date.parse(isDate ? `${written}T00:00` : written)
    : Number.NaN;
  if (!Number.isNaN(at)) return at / 1000;
  throw usageError(
    `${name}: '${text}' is neither a time ago in s, min, h or d, such as 7d, nor a date, such as 2026-11-29`,
  );
}

/** A length of time, such as `30min` or `24h`, in seconds. @throws CliError for anything else, or for none */
export function lasting(name: string, text: string): number {
  const seconds = secondsIn(text);
  if (seconds !== null) return seconds;
  throw usageError(`${name}: '${text}' is no length of time, such as 30min, 24h or 7d`);
}

/** The same, also as a number of seconds, and none at all. */
export function spell(name: string, text: string): number {
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? number(name, text) : lasting(name, text);
}

/** The same, or 0 where something is not to happen at all. */
export const lastingOrNever = (name: string, text: string): number =>
  text.trim() === '0' ? 0 : lasting(name, text);

function bounds(min: number, max: number, above = false): string {
  if (max !== Infinity) return above ? `above ${min} and at most ${max}` : `from ${min} to ${max}`;
  return above ? `above ${min}` : `of at least ${min}`;
}

/** One word of a closed set. */
export function word<const W extends string>(name: string, text: string, words: readonly W[]): W {
  const found = words.find((w) => w === text);
  if (found !== undefined) return found;
  throw usageError(`${name}: '${text}' is none of ${words.join(', ')}${didYouMean(nearest(text, words))}`);
}

/** `a=1,b=2` as a map. @throws CliError for an entry without `=`, an empty or a repeated key */
export function pairs(name: string, texts: readonly string[], separator?: string): Record<string, string> {
  const entries = new Map<string, string>();
  for (const entry of texts.flatMap((text) => (separator === undefined ? [text] : text.split(separator)))) {
    if (separator !== undefined && entry.trim() === '') continue;
    const cut = entry.indexOf('=');
    const key = entry.slice(0, Math.max(cut, 0)).trim();
    if (key === '') throw usageError(`${name}: '${entry}' is not of the form NAME=VALUE`);
    if (entries.has(key)) throw usageError(`${name}: '${key}' is given twice`);
    entries.set(key, entry.slice(cut + 1).trim());
  }
  return Object.fromEntries(entries);
}

/** Seconds of `--timeout`, if given. */
export function timeoutOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : number('--timeout', text, { above: true, max: 2_000_000 });
}

/** An id of the command line; an empty one would address the list. */
export function id(what: string, text: string): string {
  if (text.trim() === '') throw usageError(`the ${what} id is empty`, 'list the jobs with: jqctl jobs');
  return text.trim();
}

/** The values of `--param NAME=VALUE`: JSON where one reads as JSON, with numbers as they are written, else text. */
export function rawParams(texts: readonly string[]): Record<string, string | RawJson> {
  const entries = Object.entries(pairs('--param', texts));
  return Object.fromEntries(entries.map(([key, text]) => [key, isJson(text) ? new RawJson(text) : text]));
}

/** The same as values. */
export function paramsOf(texts: readonly string[]): Record<string, unknown> {
  const entries = Object.entries(pairs('--param', texts));
  return Object.fromEntries(entries.map(([key, text]) => [key, isJson(text) ? JSON.parse(text) : text]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** `--tag` of the commands that submit a job. */
export const tagFlag = () =>
  Option.Array('--tag', [], {
    description: '<TAG> a tag by which it is found, above those in a file; repeatable',
  });

/** `--reuse` of the commands that submit a job; it may be given `=any`, and as a word of its own no value. */
export const reuseFlag = () =>
  Option.String('--reuse', {
    tolerateBoolean: true,
    description: 'answer tasks that were computed before with those results; `--reuse=any`: of whomever',
  });

/** What a job says of it; undefined where the flag is not given. */
export const reuseOf = (given: string | boolean | undefined): true | 'any' | undefined =>
  given === undefined || given === false ? undefined : given === true || word('--reuse', given, ['any']);

/** `--allow-failed` of the commands that wait for a job. */
export const allowFailedFlag = () =>
  Option.Boolean('--allow-failed', false, {
    description: 'exit code 0 also when some tasks failed, if the job succeeded',
  });
