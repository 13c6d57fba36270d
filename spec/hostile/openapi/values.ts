import fc from 'fast-check';
import { RawJson } from '../../../machines/json/raw.ts';
import { NASTY_NUMBERS, NASTY_TEXTS, NO_VALUES } from '../nasty.ts';
import type { ApiDocument, Schema } from './document.ts';

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(...NASTY_TEXTS),
);
const key = fc.oneof(fc.string({ minLength: 1, maxLength: 10 }), fc.constantFrom(...NASTY_TEXTS));
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(...NASTY_NUMBERS).map((literal) => new RawJson(literal)),
);

/** Any JSON, its keys and texts nasty, its numbers as somebody may write them. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    text,
    number,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: false }),
  ),
})).value;

/** A piece of JSON text that stands for no value of the schema's, or for none at all. */
export const anyPiece: fc.Arbitrary<unknown> = fc.oneof(
  anyJson,
  fc.constantFrom(...NASTY_NUMBERS, ...NO_VALUES).map((literal) => new RawJson(literal)),
);

interface Bounds {
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minItems?: number;
}

/**
 * Values that a schema allows. They are read off the schema as the document gives it; keywords that this
 * document does not use are not known here.
 */
export function valuesOf(document: ApiDocument, schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  const s = document.resolve(schema);
  if ('const' in s) return fc.constant(s.const);
  if (Array.isArray(s.enum)) return fc.constantFrom(...(s.enum as unknown[]));
  if (Array.isArray(s.anyOf)) {
    return fc.oneof(...(s.anyOf as Schema[]).map((branch) => valuesOf(document, branch, depth + 1)));
  }
  switch (s.type) {
    case 'string':
      return texts(s as Bounds & { pattern?: string });
    case 'integer':
      return integers(s as Bounds);
    case 'number':
      return numbers(s as Bounds);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const least = (s as Bounds).minItems ?? 0;
      const items = valuesOf(document, s.items as Schema, depth + 1);
      return fc.array(items, { minLength: least, maxLength: Math.max(least, 3) });
    }
    case 'object':
      return objects(document, s, depth);
    default:
      return anyJson;
  }
}

function texts({ pattern, minLength = 0, maxLength }: Bounds & { pattern?: string }): fc.Arbitrary<string> {
  const formed = pattern === undefined ? text : fc.stringMatching(new RegExp(pattern, 'u'));
  return formed.filter((t) => [...t].length >= minLength && t.length <= (maxLength ?? Number.MAX_VALUE));
}

function integers({ minimum, maximum }: Bounds): fc.Arbitrary<number> {
  const min = minimum ?? -(2 ** 31);
  return fc.oneof(
    fc.integer({ min, max: Math.min(maximum ?? 2 ** 31 - 1, min + 50) }),
    fc.integer({ min, max: maximum ?? 2 ** 31 - 1 }),
  );
}

function numbers({ minimum, maximum, exclusiveMinimum }: Bounds): fc.Arbitrary<number> {
  const min = minimum ?? exclusiveMinimum ?? -1e6;
  const least = exclusiveMinimum === undefined ? min : min + 1e-9;
  return fc.double({ min: least, max: maximum ?? Math.max(1e6, least), noNaN: true });
}

function objects(document: ApiDocument, s: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = (s.properties ?? {}) as Record<string, Schema>;
  const required = (s.required ?? []) as string[];
  const model = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valuesOf(document, schema, depth + 1)]),
  );
  const known = fc.record(model, { requiredKeys: required });
  const free = s.additionalProperties;
  const values = typeof free === 'object' ? valuesOf(document, free as Schema, depth + 1) : anyJson;
  // Unknown members are tolerated everywhere; where keys are free, they are the point.
  const { maxLength = Number.MAX_VALUE } = (s.propertyNames ?? {}) as Bounds;
  const named = key.filter((name) => name.length <= maxLength);
  const keys = typeof free === 'object' ? named : fc.constantFrom('x-unknown', '__proto__', 'constructor');
  const others = fc.array(fc.tuple(keys, values), { maxLength: typeof free === 'object' ? 3 : 1 });
  return fc.tuple(known, others).map(([object, extra]) => withMembers(object, extra));
}

/** Own members under any name, `__proto__` too; what the schema names stays as it is. */
function withMembers(object: object, extra: [string, unknown][]): object {
  const all: Record<string, unknown> = Object.create(null);
  for (const [name, value] of extra) all[name] = value;
  return Object.assign(all, object);
}
