import type { TObject } from 'typebox';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { type ValidationIssue, validator } from '../../../machines/schema/validate.ts';

/** Turns a raw query into the values that a route declares. Throws `malformed_query`. */
export type QueryReader = (raw: string) => Record<string, unknown>;

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/;

/**
 * Parameters that a route does not declare are left out; of a repeated one, the last counts, and each must be readable.
 */
export function queryReader(schema: TObject | undefined): QueryReader {
  if (!schema) return () => ({});
  const types = new Map(
    Object.entries(schema.properties).map(([name, s]) => [name, (s as { type?: string }).type]),
  );
  const check = validator(schema);
  return (raw) => {
    const values: Record<string, unknown> = {};
    const faults: ValidationIssue[] = [];
    for (const [name, text] of pairs(raw)) {
      if (!types.has(name)) continue;
      const value = valueFrom(text, types.get(name));
      if (value === undefined) faults.push({ path: `/${name}`, message: `must be ${types.get(name)}` });
      else values[name] = value;
    }
    if (faults.length === 0) {
      const checked = check(values);
      if (checked.ok) return checked.value as Record<string, unknown>;
      faults.push(...checked.faults);
    }
    const sentences = faults.map(({ path, message }) => `'${path.slice(1)}' ${message}`);
    throw new ClusterError('malformed_query', `malformed query: ${sentences.join('; ')}`, { faults });
  };
}

function valueFrom(text: string, type: string | undefined): string | number | undefined {
  if (type !== 'integer' && type !== 'number') return text;
  return (type === 'integer' ? INTEGER : NUMBER).test(text) ? Number(text) : undefined;
}

function pairs(raw: string): [string, string][] {
  if (raw === '') return [];
  return raw
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const eq = pair.indexOf('=');
      const [name, value] = eq < 0 ? [pair, ''] : [pair.slice(0, eq), pair.slice(eq + 1)];
      return [decode(name), decode(value)];
    });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // The text may be a token, so it is not repeated.
    throw new ClusterError('malformed_query', 'malformed query: its percent-encoding is not valid UTF-8');
  }
}
