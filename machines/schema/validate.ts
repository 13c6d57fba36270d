import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Settings } from 'typebox/system';
import { didYouMean, nearest } from '../protocol/nearest.ts';

/** The library stops after 8 faults by default; a person wants the whole list, though not megabytes of it. */
export const MOST_FAULTS = 1000;
Settings.Set({ maxErrors: MOST_FAULTS });

/** One fault of a document: where (a JSON pointer) and what. */
export interface ValidationIssue {
  path: string;
  message: string;
  /** Of the text that somebody wrote, from 1. */
  line?: number;
}

/**
 * Under this member a schema of an object may name a function for what it cannot say itself, such as rules
 * between members. It gets values that the schema may have refused, and is part of no document.
 */
export const RULES = Symbol('rules');
/** Under this member a schema of a text says in words what its pattern asks for, behind "must be". */
export const FORM = Symbol('form');
type Rules = (value: Record<string, unknown>) => ValidationIssue[];

/** Either the value, or every fault it has. */
export type Checked<T> = { ok: true; value: T } | { ok: false; faults: ValidationIssue[] };

interface AnySchema {
  properties?: Record<string, AnySchema>;
  patternProperties?: Record<string, AnySchema>;
  required?: string[];
  items?: AnySchema;
  anyOf?: AnySchema[];
  const?: unknown;
  discriminator?: { propertyName: string };
  [FORM]?: string;
  [key: string]: unknown;
}

interface SchemaError {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
}

const compiledOf = new WeakMap<
  TSchema,
  { Check(value: unknown): boolean; Errors(value: unknown): unknown }
>();

/** Compiling takes much longer than checking, and servers that start one after the other have the same schemas. */
function compile(schema: TSchema) {
  const known = compiledOf.get(schema) ?? Compile(schema);
  compiledOf.set(schema, known);
  return known;
}

/**
 * A check by a schema that reports all faults at once; it is compiled when it is first used, since most are used by few
 * programs. Before the check, `null` in an optional member is taken as absent (docs/protocol.md#bodies), unless its schema
 * names null; unknown members are kept.
 */
export function validator<S extends TSchema>(schema: S): (value: unknown) => Checked<Static<S>> {
  let compiled: ReturnType<typeof compile> | undefined;
  const raw = schema as unknown as AnySchema;
  const rules = (schema as { [RULES]?: Rules })[RULES];
  return (input) => {
    compiled ??= compile(schema);
    const value = withoutNulls(raw, input);
    const broken = rules && isObject(value) ? rules(value).slice(0, MOST_FAULTS) : [];
    if (compiled.Check(value)) {
      return broken.length > 0 ? { ok: false, faults: broken } : { ok: true, value: value as Static<S> };
    }
    const faults = faultsOf(raw, value, compiled.Errors(value) as unknown as SchemaError[]);
    return { ok: false, faults: [...faults, ...broken] };
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same without the optional members that are null: a copy where there are any. */
function withoutNulls(schema: AnySchema, value: unknown): unknown {
  if (schema.anyOf) {
    const branch = branchOf(schema, value);
    return branch ? withoutNulls(branch, value) : value;
  }
  if (Array.isArray(value)) return schema.items ? itemsWithoutNulls(schema.items, value) : value;
  if (!isObject(value) || !schema.properties) return value;
  let copy: Record<string, unknown> | null = null;
  for (const key of Object.keys(schema.properties)) {
    if (!Object.hasOwn(value, key)) continue;
    const member = value[key];
    const rule = schema.properties[key] as AnySchema;
    const isAbsent = member === null && !schema.required?.includes(key) && !meansNull(rule);
    const kept = isAbsent ? undefined : withoutNulls(rule, member);
    if (kept === member) continue;
    copy ??= Object.assign(Object.create(null), value) as Record<string, unknown>;
    if (isAbsent) delete copy[key];
    else copy[key] = kept;
  }
  return copy ?? value;
}

/** Whether null is a value of its own, such as the one by which a change takes something back. */
const meansNull = ({ anyOf }: AnySchema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false;

function itemsWithoutNulls(schema: AnySchema, items: readonly unknown[]): readonly unknown[] {
  const kept = items.map((item) => withoutNulls(schema, item));
  return kept.some((item, i) => item !== items[i]) ? kept : items;
}

function branchOf(union: AnySchema, value: unknown): AnySchema | undefined {
  const by = union.discriminator?.propertyName;
  if (by && isObject(value)) return union.anyOf?.find((b) => b.properties?.[by]?.const === value[by]);
  if (isObject(value)) return union.anyOf?.find((b) => b.properties);
  const type = Array.isArray(value) ? 'array' : typeof value;
  return by ? undefined : union.anyOf?.find((b) => b.type === type && b.const === undefined);
}

/** Turns the compiler's errors into faults a person can act on: one line each, unions told by their branch. */
function faultsOf(root: AnySchema, value: unknown, errors: SchemaError[]): ValidationIssue[] {
  const faults = new Map<string, ValidationIssue>();
  const add = (path: string, message: string) => {
    faults.set(`${path} ${message}`, { path: path || '/', message });
  };
  // Which words may stand there says more than that it must be text.
  const exact = new Set(errors.filter(({ keyword }) => isExact(keyword)).map((e) => e.instancePath));
  for (const error of errors) {
    if (error.keyword === 'type' && exact.has(error.instancePath)) continue;
    const { union, node } = placeOf(root, error.schemaPath);
    const there = valueAt(value, Number.POSITIVE_INFINITY, error.instancePath).value;
    if (!union) {
      describe(error, node, there, add);
      continue;
    }
    const at = valueAt(value, union.instanceDepth(error), error.instancePath);
    const branch = branchOf(union.schema, at.value);
    if (branch && union.schema.anyOf?.[union.index] === branch) describe(error, node, there, add);
    else if (!branch) add(unionPath(union.schema, at), expectation(union.schema, at.value));
  }
  return [...faults.values()];
}

const isExact = (keyword: string) => keyword === 'const' || keyword === 'enum';

type Add = (path: string, message: string) => void;

/** @param node the schema that was not met, and `value` what did not meet it */
function describe(error: SchemaError, node: AnySchema | undefined, value: unknown, add: Add): void {
  if (error.keyword === 'required') {
    const known = Object.keys(node?.properties ?? {});
    for (const name of (error.params.requiredProperties as string[]) ?? []) {
      add(`${error.instancePath}/${name}`, `is required${insteadOf([name], value, known)}`);
    }
  } else if (error.keyword === 'const') {
    add(error.instancePath, `must be ${JSON.stringify(error.params.allowedValue)}`);
  } else if (error.keyword === 'enum') {
    add(error.instancePath, oneOf(error.params.allowedValues as unknown[], value));
  } else if (error.keyword === 'pattern' && node?.[FORM] !== undefined) {
    add(error.instancePath, `must be ${node[FORM]}`);
  } else if (error.keyword !== 'anyOf' && error.keyword !== 'propertyNames') {
    // Of these two, each fault by itself is told already.
    add(error.instancePath, error.message);
  }
}

/** Members that are looked at for what was meant, and how long their names may be: a document may have a million. */
const LOOKED_AT = 50;
const LONGEST_WORD = 100;

/** Which of the members that nobody knows was probably meant to be one that is missing; else empty. */
export function insteadOf(missing: readonly string[], value: unknown, known: readonly string[]): string {
  if (!isObject(value)) return '';
  for (const key of Object.keys(value).slice(0, LOOKED_AT + known.length)) {
    const near = key.length > LONGEST_WORD || known.includes(key) ? undefined : nearest(key, missing);
    if (near !== undefined) return `; '${key}' is unknown${didYouMean(near)}`;
  }
  return '';
}

function oneOf(words: readonly unknown[], value: unknown): string {
  const near = typeof value === 'string' ? nearest(value, words.map(String)) : undefined;
  return `must be one of: ${words.join(', ')}${didYouMean(near)}`;
}

interface UnionAt {
  schema: AnySchema;
  index: number;
  instanceDepth(error: SchemaError): number;
}

/** Where an error's schema path leads, as far as it runs through schemas, and the innermost union on the way. */
function placeOf(
  root: AnySchema,
  schemaPath: string,
): { union: UnionAt | null; node?: AnySchema | undefined } {
  const segments = schemaPath.replace(/^#\/?/, '').split('/');
  let node: AnySchema | undefined = root;
  let depth = 0;
  let found: UnionAt | null = null;
  for (let i = 0; node && i < segments.length; i++) {
    const word = segments[i] as string;
    if (word === 'anyOf') {
      const index = Number(segments[++i]);
      const schema: AnySchema = node;
      const at = depth;
      found = { schema, index, instanceDepth: () => at };
      node = schema.anyOf?.[index];
    } else if (word === 'properties' || word === 'patternProperties') {
      // A property name may itself hold escaped slashes, never plain ones.
      const name = (segments[++i] as string).replaceAll('~1', '/').replaceAll('~0', '~');
      node = node[word]?.[name];
      depth++;
    } else if (word === 'items') {
      node = node.items;
      depth++;
    } else break;
  }
  return { union: found, node };
}

function valueAt(root: unknown, depth: number, instancePath: string): { path: string; value: unknown } {
  const parts = instancePath.split('/').slice(1, depth + 1);
  let value = root;
  for (const part of parts) {
    value = (value as Record<string, unknown>)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return { path: parts.length ? `/${parts.join('/')}` : '', value };
}

function unionPath(union: AnySchema, at: { path: string; value: unknown }): string {
  const by = union.discriminator?.propertyName;
  return by && isObject(at.value) ? `${at.path}/${by}` : at.path;
}

function expectation(union: AnySchema, value: unknown): string {
  const by = union.discriminator?.propertyName;
  if (by && !isObject(value)) return 'must be object';
  const branches = union.anyOf ?? [];
  const words = branches
    .map((b) => (by ? b.properties?.[by]?.const : b.const))
    .filter((w) => w !== undefined);
  if (by && isObject(value) && value[by] === undefined) {
    const known = branches.flatMap((b) => Object.keys(b.properties ?? {}));
    return oneOf(words, undefined) + insteadOf([by], value, known);
  }
  if (words.length) return oneOf(words, by && isObject(value) ? value[by] : value);
  return `must be one of these: ${branches.map((b) => b.type ?? 'value').join(', ')}`;
}
