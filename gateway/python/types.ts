import type { Json } from '../openapi/schemas.ts';

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

const NAME = /^[A-Za-z_]\w*$/;
/** Names that no member of a class may have. */
const KEYWORDS =
  /^(False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$/;

/** Types of Python for JSON Schemas. Objects without a name get one from where they stand, and a class of their own. */
export class Types {
  /** Classes of objects that have no name in the table, in the order in which they were met. */
  readonly definitions: string[] = [];
  readonly #names = new Set<string>();
  /** Whether what is written now is evaluated when the module is loaded, before all names are there. */
  #evaluated = false;

  /** @param at a name for the object, should it need one */
  of(schema: Json, at: string): string {
    const { $ref, type, anyOf, items } = schema;
    const values = 'const' in schema ? [schema.const] : (schema.enum as unknown[] | undefined);
    if (typeof $ref === 'string') {
      const name = $ref.split('/').at(-1) as string;
      return this.#evaluated ? `"${name}"` : name;
    }
    if (values) return `Literal[${values.map(literal).join(', ')}]`;
    if (anyOf) return union((anyOf as Json[]).map((branch, i) => this.of(branch, `${at}${i + 1}`)));
    if (type === 'array') return `List[${this.of((items ?? {}) as Json, `${at}Item`)}]`;
    if (type === 'object') return this.#object(schema, at);
    return typeof type === 'string' ? (SIMPLE[type] ?? 'Any') : 'Any';
  }

  /** The definition of a schema that has a name. */
  define(name: string, schema: Json): string {
    return isClass(schema) ? this.#class(name, schema) : this.#alias(name, schema);
  }

  #alias(name: string, schema: Json): string {
    this.#evaluated = true;
    const type = this.of(schema, name);
    this.#evaluated = false;
    return `${name} = ${type}\n`;
  }

  #object(schema: Json, at: string): string {
    if (isClass(schema)) {
      const name = at.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      if (!this.#names.has(name)) {
        this.#names.add(name);
        const evaluated = this.#evaluated;
        this.#evaluated = false;
        this.definitions.push(this.#class(name, schema));
        this.#evaluated = evaluated;
      }
      return name;
    }
    const values = schema.additionalProperties;
    return `Dict[str, ${typeof values === 'object' && values ? this.of(values as Json, `${at}Value`) : 'Any'}]`;
  }

  /** Two classes where some members may be missing: Python 3.9 cannot say that of a single one. */
  #class(name: string, schema: Json): string {
    const required = new Set((schema.required as string[] | undefined) ?? []);
    const members = Object.entries(schema.properties as Record<string, Json>);
    const written = (wanted: boolean) =>
      members
        .filter(([key]) => required.has(key) === wanted)
        .map(([key, member]) => `    ${key}: ${this.of(member, `${name}_${key}`)}`);
    const [always, perhaps] = [written(true), written(false)];
    if (perhaps.length === 0) return classOf(name, 'TypedDict', always);
    if (always.length === 0) return classOf(name, 'TypedDict, total=False', perhaps);
    return `${classOf(`_${name}`, 'TypedDict', always)}\n${classOf(name, `_${name}, total=False`, perhaps)}`;
  }
}

/** Whether a class can say what is in an object: it has members, and each has a name that Python allows. */
function isClass({ type, properties = {} }: Json): boolean {
  const keys = Object.keys(properties as object);
  return type === 'object' && keys.length > 0 && keys.every((key) => NAME.test(key) && !KEYWORDS.test(key));
}

const classOf = (name: string, bases: string, members: readonly string[]): string =>
  `\nclass ${name}(${bases}):\n${members.join('\n')}\n`;

function literal(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

function union(branches: string[]): string {
  const different = [...new Set(branches)];
  const some = different.filter((branch) => branch !== 'None');
  if (some.length === 0) return 'None';
  const [only] = some;
  const all = some.length === 1 ? (only as string) : `Union[${some.join(', ')}]`;
  return some.length === different.length ? all : `Optional[${all}]`;
}
