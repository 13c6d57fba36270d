/** What the store has in a column. */
export type SqlValue = string | number | null;

/** Where a cell comes from: a member of the row as it is, or what a function makes of the member, or of the row. */
export interface CellSource<Row> {
  readonly column: string;
  readonly encode?: ((value: never) => SqlValue) | null | undefined;
  readonly of?: ((row: Row) => SqlValue) | undefined;
}

/** Where a member of a row comes from: a cell as it is, or what a function makes of it. */
export interface MemberSource {
  readonly column: string;
  readonly place: number;
  readonly decode: ((cell: SqlValue) => unknown) | null;
}

/*
 * Rows are gone through member by member several times in their turns. These functions are made as text, since V8 reads
 * a member several times faster by a name that stands in the code than by one in a variable. All names are those of
 * columns, so that nothing is compiled but what the program says itself.
 */

/** All cells of a row in their order. */
export function cellsReader<Row>(sources: readonly CellSource<Row>[]): (row: Row) => SqlValue[] {
  const cells = sources.map((source, i) => cell(source, i, 'row'));
  return compile(sources.map(functionOf), `(row) => [${cells.join(', ')}]`);
}

/**
 * Whether these cells are what they were; of a row that is new, whether they are all NULL. Rows do not change, so that
 * most members are known at a glance.
 */
export function samenessOf<Row>(
  sources: readonly CellSource<Row>[],
): (row: Row, before: Row | null) => boolean {
  const every = (tests: readonly string[]) => ['true', ...tests].join(' && ');
  const empty = sources.map((source, i) => `${cell(source, i, 'row')} === null`);
  const same = sources.map((source, i) => {
    const after = cell(source, i, 'row');
    const differs = `${after} === ${cell(source, i, 'before')}`;
    return source.of ? differs : `(row.${source.column} === before.${source.column} || ${differs})`;
  });
  return compile(
    sources.map(functionOf),
    `(row, before) => before === null ? ${every(empty)} : ${every(same)}`,
  );
}

/** A row from its cells. */
export function rowMaker(sources: readonly MemberSource[]): (cells: readonly SqlValue[]) => object {
  const members = sources.map(({ column, place, decode }, i) =>
    decode ? `${column}: f${i}(cells[${place}])` : `${column}: cells[${place}]`,
  );
  return compile(
    sources.map(({ decode }) => decode),
    `(cells) => ({ ${members.join(', ')} })`,
  );
}

const functionOf = <Row>({ of, encode }: CellSource<Row>): unknown => of ?? encode;

function cell<Row>({ column, encode, of }: CellSource<Row>, i: number, row: string): string {
  if (of) return `f${i}(${row})`;
  return encode ? `f${i}(${row}.${column})` : `${row}.${column}`;
}

/** @param functions called in the text as f0, f1 and so on */
function compile<Made>(functions: readonly unknown[], text: string): Made {
  return new Function(...functions.map((_, i) => `f${i}`), `return ${text}`)(...functions) as Made;
}
