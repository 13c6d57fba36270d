/** What the store may be. */
export type Dialect = 'sqlite' | 'postgresql';

/** A statement, or a part of one, as each of them reads it. */
export type Sql = Readonly<Record<Dialect, string>>;

/** A text by itself is the same for both. */
export type SqlText = string | Sql;

/** Where two dialects really have different words. */
export const differing = (sqlite: string, postgresql: string): Sql => ({ sqlite, postgresql });

export const textOf = (text: SqlText, dialect: Dialect): string =>
  typeof text === 'string' ? text : text[dialect];

/**
 * Puts a statement together of texts and parts that differ. Its parameters are `?`, in order, or `?1`, `?2` all through;
 * nothing else in it is a question mark.
 */
export function sql(strings: TemplateStringsArray, ...parts: readonly (SqlText | number)[]): Sql {
  const texts = parts.map((part) => (typeof part === 'number' ? `${part}` : part));
  const of = (dialect: Dialect) =>
    String.raw({ raw: strings }, ...texts.map((part) => textOf(part, dialect)));
  return { sqlite: of('sqlite'), postgresql: of('postgresql') };
}

export const joinSql = (parts: readonly SqlText[], separator: string): Sql => {
  const of = (dialect: Dialect) => parts.map((part) => textOf(part, dialect)).join(separator);
  return { sqlite: of('sqlite'), postgresql: of('postgresql') };
};

/** What is asked for rows. Each statement sees what was committed before it. */
export interface Queries {
  all<Rows>(text: SqlText, ...params: unknown[]): Promise<Rows>;
  /** The first row; undefined when there is none. */
  get<Row>(text: SqlText, ...params: unknown[]): Promise<Row | undefined>;
}
