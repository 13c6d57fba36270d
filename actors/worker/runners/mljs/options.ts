import { InputError } from '../../errors.ts';
import { didYouMean } from './did-you-mean.ts';

/** A mapping as read from YAML or JSON. */
export type Mapping = Record<string, unknown>;

/** Tells a mapping from lists, null and scalars. */
export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as messages show it: short, on one line. */
export function show(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/**
 * The options of one step; an absent or null value counts as none.
 *
 * @param where prefix of messages, e.g. `pls.yaml: step 2 (pls)`
 * @throws InputError if it is no mapping or has a key not in `known`
 */
export function readOptions(where: string, value: unknown, known: readonly string[]): Mapping {
  if (value === undefined || value === null) return {};
  if (!isMapping(value)) throw new InputError(`${where}: options must be a mapping, got ${show(value)}`);
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const accepted = known.length === 0 ? 'it takes no options' : `options are ${known.join(', ')}`;
    throw new InputError(`${where}: unknown option "${key}"${didYouMean(key, known)}; ${accepted}`);
  }
  return value;
}

/**
 * A whole number within limits.
 *
 * @throws InputError naming `where` if the value is anything else
 */
export function wholeNumber(
  where: string,
  value: unknown,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InputError(`${where} must be a whole number ${range}, got ${show(value)}`);
}
