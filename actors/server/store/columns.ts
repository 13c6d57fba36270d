import { cellsReader, rowMaker, type SqlValue, samenessOf } from './compiled-rows.ts';
import { differing, joinSql, type Sql, type SqlText, sql } from './sql.ts';

export type { SqlValue } from './compiled-rows.ts';

export type SqlRow = Record<string, SqlValue>;

/** How a member of a row is kept in the column of its name. */
export class Column<Value> {
  readonly type: 'TEXT' | 'INTEGER' | 'REAL';
  readonly isNullable: boolean;
  /** Whether it stays as it was inserted, unless a statement of its own changes it. */
  readonly isFixed: boolean;
  /** Whether it is NULL in nearly all rows, and stays so. */
  readonly isRare: boolean;
  /** Null where the value is stored as it is. */
  readonly encode: ((value: Value) => SqlValue) | null;
  readonly decode: ((cell: SqlValue) => Value) | null;

  constructor({
    type,
    isNullable = false,
    isFixed = false,
    isRare = false,
    encode = null,
    decode = null,
  }: Pick<Column<Value>, 'type'> & Partial<Column<Value>>) {
    this.type = type;
    this.isNullable = isNullable;
    this.isFixed = isFixed;
    this.isRare = isRare;
    this.encode = encode;
    this.decode = decode;
  }

  get fixed(): Column<Value> {
    return new Column({ ...this, isFixed: true });
  }

  /** Of a column that may be NULL. */
  get rare(): Column<Value> {
    return new Column({ ...this, isRare: true });
  }

  get orNull(): Column<Value | null> {
    const { encode, decode } = this;
    return new Column<Value | null>({
      type: this.type,
      isFixed: this.isFixed,
      isNullable: true,
      encode: encode && ((value) => (value === null ? null : encode(value))),
      decode: decode && ((cell) => (cell === null ? null : decode(cell))),
    });
  }
}

const parse = <T>(cell: SqlValue): T => JSON.parse(cell as string) as T;

export const text = new Column<string>({ type: 'TEXT' });
export const word = <W extends string>() => new Column<W>({ type: 'TEXT' });
export const integer = new Column<number>({ type: 'INTEGER' });
export const real = new Column<number>({ type: 'REAL' });
export const flag = new Column<boolean>({
  type: 'INTEGER',
  encode: Number,
  decode: (cell) => cell === 1,
});
export const json = <T>() => new Column<T>({ type: 'TEXT', encode: JSON.stringify, decode: parse });
/** Nearly always empty; then it is NULL. */
export const list = <T extends readonly unknown[]>() =>
  new Column<T>({
    type: 'TEXT',
    isNullable: true,
    encode: (items) => (items.length > 0 ? JSON.stringify(items) : null),
    decode: (cell) => (cell === null ? ([] as unknown as T) : parse(cell)),
  });

// biome-ignore lint/suspicious/noExplicitAny: whatever the values are.
export type Columns = Readonly<Record<string, Column<any>>>;

/** The row as the program holds it. */
export type RowOf<C extends Columns> = {
  [Name in keyof C]: C[Name] extends Column<infer Value> ? Value : never;
};

/** A column that follows from several members of a row. */
export interface DerivedColumn<Row> extends Pick<Column<never>, 'type' | 'isNullable' | 'isFixed'> {
  isRare?: boolean;
  of(row: Row): SqlValue;
}

/** How a kind of row is written: its columns in order, and what it is found by. */
export interface Written<Row> {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** The columns that may change after the insert. */
  readonly changing: readonly string[];
  /** What a column is in SQL. */
  readonly types: Readonly<Record<string, Pick<Column<never>, 'type' | 'isNullable'>>>;
  encode(row: Row): SqlValue[];
  /** The key, then what may have changed. */
  encodeChange(row: Row): SqlValue[];
}

/** A kind of row with all its columns, and the conversion both ways. */
export interface Table<Row> extends Written<Row> {
  /**
   * The same without the columns that are rare: SQLite takes its time for each, whatever is in it.
   */
  readonly plain: Written<Row>;
  /** Whether a row may be written plainly: nothing rare is in it, or has changed since it was written. */
  isPlain(row: Row, before: Row | null): boolean;
  /**
   * SQL: a row as one text. The driver of SQLite makes an object of a row cell by cell, which for a row of forty costs more than
   * to find it.
   * @param cellOf what stands for a column; the column itself where it is left out
   */
  rowSql(cellOf?: (column: string) => SqlText): Sql;
  /** @param text as `rowSql` makes it */
  decode(text: string): Row;
}

/**
 * SQL: a double as text from which it is read exactly. SQLite writes fifteen digits of it as JSON, and of some the
 * seventeenth wrong.
 */
const digits = (cell: string): Sql =>
  differing(`CASE WHEN ${cell} IS NULL THEN NULL ELSE printf('%!.20g', ${cell}) END`, cell);

/**
 * @param derived columns beside those of the members
 * @param members those that such columns are derived from
 */
export function table<C extends Columns, More extends object = object>(
  name: string,
  key: readonly string[],
  columns: C,
  derived: Readonly<Record<string, DerivedColumn<RowOf<C> & More>>> = {},
  members?: (cellOf: (column: string) => SqlValue) => More,
): Table<RowOf<C> & More> {
  type Row = RowOf<C> & More;
  const types: Record<string, Omit<DerivedColumn<Row>, 'of'>> = { ...columns, ...derived };
  const names = Object.keys(types);
  const sourcesOf = (read: readonly string[]) =>
    read.map((column) => ({ column, encode: columns[column]?.encode, of: derived[column]?.of }));
  const written = (inserted: readonly string[], changing: readonly string[]): Written<Row> => ({
    name,
    key,
    columns: inserted,
    changing,
    types: Object.fromEntries(inserted.map((column) => [column, types[column] as Column<never>])),
    encode: cellsReader(sourcesOf(inserted)),
    encodeChange: cellsReader(sourcesOf([...key, ...changing])),
  });
  const changing = names.filter((column) => !key.includes(column) && !types[column]?.isFixed);
  const isRare = (column: string) => types[column]?.isRare === true;
  const places = new Map(names.map((column, place) => [column, place]));
  const reals = names.flatMap((column, place) => (types[column]?.type === 'REAL' ? [place] : []));
  const rowOf = rowMaker(
    Object.entries(columns).map(([column, { decode }]) => ({
      column,
      decode,
      place: places.get(column) as number,
    })),
  );
  return {
    ...written(names, changing),
    plain: written(
      names.filter((column) => !isRare(column)),
      changing.filter((column) => !isRare(column)),
    ),
    isPlain: samenessOf(sourcesOf(names.filter(isRare))),
    rowSql(cellOf = (column) => `${name}.${column}`) {
      const cells = names.map((column) => {
        const cell = cellOf(column);
        return types[column]?.type === 'REAL' && typeof cell === 'string' ? digits(cell) : cell;
      });
      return sql`${differing('json_array', 'jq_row(json_build_array')}(${joinSql(cells, ', ')})${differing('', '::text)')}`;
    },
    decode(text) {
      const cells = JSON.parse(text) as SqlValue[];
      for (const place of reals) if (cells[place] !== null) cells[place] = Number(cells[place]);
      return Object.assign(
        rowOf(cells),
        members?.((column) => cells[places.get(column) as number] as SqlValue),
      ) as Row;
    },
  };
}
