import { routeList } from '../../../gateway/contract/routes.ts';
import { openApi } from '../../../gateway/openapi/openapi.ts';
import { table } from './table.ts';

interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
}

/** The link to a schema of the reference, by its name or by a JSON reference to it. */
export function link(ref: string): string {
  const name = ref.split('/').at(-1) as string;
  return `[${name}](reference.md#${name.toLowerCase()})`;
}

/** Every schema of the API that has a name, field by field. */
export function fields(): string {
  const { components } = openApi(routeList, { service: '', version: '', allowPythonJobs: true }) as {
    components: { schemas: Record<string, Schema> };
  };
  return Object.entries(components.schemas).map(sectionOf).join('\n\n');
}

/** The parameters in the query of every endpoint that has some. */
export function queries(): string {
  const rows = routeList.flatMap(([, { path, query, kind }]) =>
    Object.entries((query as Schema | undefined)?.properties ?? {}).map(([name, schema]) => [
      `\`${path}\``,
      `\`${name}\``,
      kind === 'stream' && name === 'token'
        ? 'the credential, where no header can be sent'
        : notesOf(schema, true),
    ]),
  );
  return table(['Path', 'Parameter', 'Notes'], rows);
}

function sectionOf([name, schema]: [string, Schema]): string {
  const parts = [`## ${name}`];
  if (schema.description) parts.push(`${sentence(schema.description)}`);
  parts.push(bodyOf(schema));
  return parts.join('\n\n');
}

function bodyOf(schema: Schema): string {
  if (schema.properties) return fieldTable(schema);
  // A union of objects: one after the other, by the field that distinguishes them.
  if (schema.anyOf?.every(({ properties }) => properties !== undefined)) {
    return schema.anyOf.map((branch) => `With ${distinction(branch)}:\n\n${fieldTable(branch)}`).join('\n\n');
  }
  return `${sentence(typeOf(schema))}`;
}

/** The field of a branch that has one value only. */
function distinction({ properties = {} }: Schema): string {
  const found = Object.entries(properties).find(([, schema]) => schema.const !== undefined);
  return found ? `\`${found[0]}: ${String(found[1].const)}\`` : 'other fields';
}

function fieldTable({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => [
    `\`${name}\``,
    typeOf(schema),
    required.includes(name) ? 'yes' : '',
    notesOf(schema),
  ]);
  return table(['Field', 'Type', 'Always', 'Notes'], rows);
}

function typeOf(schema: Schema): string {
  const { $ref, type, anyOf, items, const: only } = schema;
  if ($ref !== undefined) return link($ref);
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array') return `list of ${items ? typeOf(items) : 'anything'}`;
  if (type === 'object' && schema.properties) {
    return `object of ${Object.keys(schema.properties)
      .map((name) => `\`${name}\``)
      .join(', ')}`;
  }
  if (type === 'object' && typeof schema.additionalProperties === 'object') {
    const of = typeOf(schema.additionalProperties);
    return of === 'anything' ? 'object' : `object of ${of} by name`;
  }
  return type ?? 'anything';
}

function notesOf(schema: Schema, withWords = false): string {
  const { description, minimum, exclusiveMinimum, maximum, maxLength, maxItems, pattern } = schema;
  const known = { ...(schema.default !== undefined && { default: JSON.stringify(schema.default) }) };
  return [
    description ?? '',
    withWords && schema.enum ? typeOf(schema) : '',
    known.default === undefined ? '' : `default \`${known.default}\``,
    minimum === undefined ? '' : `at least ${number(minimum)}`,
    exclusiveMinimum === undefined ? '' : `more than ${number(exclusiveMinimum)}`,
    maximum === undefined ? '' : `at most ${number(maximum)}`,
    maxLength === undefined ? '' : `at most ${number(maxLength)} characters`,
    maxItems === undefined ? '' : `at most ${number(maxItems)}`,
    pattern === undefined ? '' : `matches \`${pattern}\``,
  ]
    .filter((note) => note !== '')
    .join('; ');
}

const number = (value: number): string => value.toLocaleString('en');

function sentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed[0]?.toUpperCase() ?? ''}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}
