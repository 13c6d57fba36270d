/** What the store may be. */
export type Dialect = 'sqlite' | 'postgresql';

/** A statement, or a part of one, as each of them reads it. */
export class Sql implements Readonly<Record<Dialect, string>> {
  readonly sqlite: string;
  readonly postgresql: string;

  constructor(of: (dialect: Dialect) => string) {
    this.sqlite = of('sqlite');
    this.postgresql = of('postgresql');
  }

  /** In a text of its own it would be of no dialect. */
  toString(): never {
    throw new TypeError('SQL of several dialects is put together by the tag sql`…`');
  }
}

/** A text by itself is the same for both. */
export type SqlText = string | Sql;

/** Where two dialects really have different words. */
export const differing = (sqlite: string, postgresql: string): Sql =>
  new Sql((dialect) => (dialect === 'sqlite' ? sqlite : postgresql));

export const textOf = (text: SqlText, dialect: Dialect): string =>
  typeof text === 'string' ? text : text[dialect];

/**
 * Puts a statement together of texts and parts that differ. Its parameters are `?`, in order, or `?1`, `?2` all through;
 * nothing else in it is a question mark.
 */
export function sql(strings: TemplateStringsArray, ...parts: readonly (SqlText | number)[]): Sql {
  return new Sql((dialect) =>
    String.raw(
      { raw: strings },
      ...parts.map((part) => (typeof part === 'number' ? part : textOf(part, dialect))),
    ),
  );
}

export const joinSql = (parts: readonly SqlText[], separator: string): Sql =>
  new Sql((dialect) => parts.map((part) => textOf(part, dialect)).join(separator));

/** What is asked for rows. Each statement sees what was committed before it. */
export interface Queries {
  all<Rows>(text: SqlText, ...params: unknown[]): Promise<Rows>;
  /** The first row; undefined when there is none. */
  get<Row>(text: SqlText, ...params: unknown[]): Promise<Row | undefined>;
}
