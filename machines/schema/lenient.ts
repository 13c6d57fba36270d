import type { Static, TSchema } from 'typebox';

/**
 * Other servers of this protocol say less than this one. What is written by a schema is strict; what is read by it here
 * is not: each member that is missing, or is something else than it should be, is filled in with what means "not said".
 */

/** Under this member a schema names what is filled in for it, where nothing or zero would mean something else. */
export const ABSENT = Symbol('absent');
/** Under this member a schema of an object names the members that nothing can be filled in for. */
export const NEEDED = Symbol('needed');

/** A value as it was understood, and the places of needed members that it does not have, as JSON pointers. */
export interface Understood<T> {
  value: T;
  missing: string[];
}

interface AnySchema {
  type?: string;
  const?: unknown;
  properties?: Record<string, AnySchema>;
  required?: string[];
  items?: AnySchema;
  anyOf?: AnySchema[];
  patternProperties?: object;
  [ABSENT]?: unknown;
  [NEEDED]?: readonly string[];
}

/** Reads what a server said. Members that the schema does not know are kept. */
export function understand<S extends TSchema>(schema: S, said: unknown): Understood<Static<S>> {
  const missing: string[] = [];
  return { value: fill(schema as AnySchema, said, '', missing) as Static<S>, missing };
}

function fill(schema: AnySchema, said: unknown, path: string, missing: string[]): unknown {
  if (schema.anyOf) return fillUnion(schema.anyOf, said, path, missing);
  if (said === undefined || said === null) {
    if (ABSENT in schema) return schema[ABSENT];
    if (schema.const !== undefined) return schema.const;
  }
  switch (schema.type) {
    case 'object':
      return fillObject(schema, isObject(said) ? said : {}, path, missing);
    case 'array':
      return Array.isArray(said)
        ? said.map((item, i) => fill(schema.items ?? {}, item, `${path}/${i}`, missing))
        : [];
    case 'string':
      return typeof said === 'string' ? said : typeof said === 'number' ? String(said) : '';
    case 'number':
    case 'integer':
      return typeof said === 'number' ? said : (schema[ABSENT] ?? 0);
    case 'boolean':
      return typeof said === 'boolean' ? said : (schema[ABSENT] ?? false);
    default:
      return said;
  }
}

/** Of nothing or something, nothing stands for whatever cannot be read as something. */
function fillUnion(branches: AnySchema[], said: unknown, path: string, missing: string[]): unknown {
  const something = branches.filter(({ type }) => type !== 'null');
  if (something.length === branches.length) return said;
  const [only] = something;
  if (said === undefined || said === null) return null;
  if (only === undefined || something.length > 1) return said;
  return fits(only, said) ? fill(only, said, path, missing) : null;
}

function fits({ type }: AnySchema, said: unknown): boolean {
  if (type === 'object') return isObject(said);
  if (type === 'array') return Array.isArray(said);
  if (type === 'string') return ['string', 'number'].includes(typeof said);
  return type === undefined || typeof said === (type === 'integer' ? 'number' : type);
}

function fillObject(
  schema: AnySchema,
  said: Record<string, unknown>,
  path: string,
  missing: string[],
): Record<string, unknown> {
  const filled: Record<string, unknown> = { ...said };
  const needed = schema[NEEDED] ?? [];
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const value = Object.hasOwn(said, name) ? said[name] : undefined;
    const isThere = value !== undefined && value !== null;
    if (needed.includes(name) && !(isThere && fits(member, value))) missing.push(`${path}/${name}`);
    if (isThere || schema.required?.includes(name))
      filled[name] = fill(member, value, `${path}/${name}`, missing);
    else delete filled[name];
  }
  return filled;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
