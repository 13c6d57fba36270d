import type { Piece } from '../../../gateway/backend.ts';
import { differing, type Queries, type SqlText, sql } from '../store/sql.ts';
import { inOrder, JOIN } from '../store/sql-words.ts';
import { BLANK, integer, LATER, PICKED } from './json-text.ts';
import { orPlaceholder } from './long-values.ts';
import type { Plan, RowHead } from './pages.ts';

/**
 * Rows that stand behind each other are looked at together, in one statement that makes one text of those that are
 * small, as nearly all are. So no row is read twice, to plan a page and to compose it; nor may a text become longer than
 * so many small rows are, whatever others hold: of these only the size is told, and they are composed when it is their
 * turn. SQLite gives the text as bytes, which are sent as they are where nothing has to be put in.
 */

/** Bytes above which a column makes its row one that is not small. */
const SMALL = 2048;

const LATER_ROW = new RegExp(`${LATER}(\\d+):(\\d+)`, 'g');

/** The JSON text of a column that may be long, in a member. @param what a mark stands for, if not for the column */
export type LongInMember = (column: string, jsonText: SqlText, what?: string) => SqlText;
/** Without marks: in a small row nothing is long. */
const asItIs: LongInMember = (_, jsonText) => jsonText;
/** A mark where a value is long. @param seq what its row is numbered by */
export const orMark =
  (seq: string): LongInMember =>
  (column, jsonText, what = column.replace(/^.*\./, '')) =>
    orPlaceholder(column, jsonText, what, seq);

/** What is asked of rows. */
export interface Members {
  /** Where they are, and what they are numbered by. */
  table: string;
  seq: string;
  /** The JSON text of a row, and its parameters; where it is left out, no row is small. */
  member?: (long: LongInMember) => SqlText;
  params?: readonly unknown[];
  /** Columns that may be long. */
  long: readonly string[];
  /** What else they are ordered by, and which of all is the last one, the largest or the smallest. */
  order?: { value: SqlText; last: 'max' | 'min' };
}

/** A row that is not small: its number, and the bytes that it takes. */
export interface LargeRow extends RowHead {
  seq: number;
}

interface Looked {
  /** The members, joined by commas. */
  text: Piece;
  /** The numbers of all rows. */
  seqs: number[];
  /** What the last of them is ordered by. */
  last: number | null;
  large: LargeRow[];
}

const all = (expression: SqlText) => sql`coalesce(string_agg(${expression}, ','), '')`;
const bytes = (text: SqlText) => sql`${differing('CAST(', '')}${text}${differing(' AS BLOB)', '')}`;

/** Rows in order. @param rest of the statement: which rows, their order and how many @param params of the rest */
export async function look(
  db: Queries,
  { table, seq, member, params: own = [], long, order }: Members,
  rest: SqlText,
  ...params: readonly unknown[]
): Promise<Looked> {
  const isLarge = member ? long.map((column) => `octet_length(${column}) > ${SMALL}`).join(' OR ') : '1 = 1';
  const size = long.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
  const found = await db.get<{ look: Piece; seqs: string; last: number | null }>(
    sql`SELECT ${bytes(all('member'))} AS look, ${all('number')} AS seqs${order ? sql`, ${order.last}(ordered)` : ', NULL'} AS last
      FROM (SELECT CASE WHEN ${isLarge} THEN concat('${LATER}', ${seq}, ':', 1 + ${size})
            ELSE ${member?.(asItIs) ?? 'NULL'} END AS member,
          ${integer(seq)} AS number${order ? sql`, ${order.value} AS ordered` : ''}
        FROM ${table} ${rest}) AS looked`,
    ...own,
    ...params,
  );
  const { look: text = '', seqs = '', last = null } = found ?? {};
  return { seqs: JSON.parse(`[${seqs}]`) as number[], last, ...withoutLarge(text) };
}

/** Of rows that are ordered by their number alone. */
export const planOf = ({ text, seqs, large }: Looked): Plan<LargeRow> => ({
  ...{ count: seqs.length, text, heads: large },
  last: seqs.length === 0 ? undefined : { seq: seqs.at(-1) as number, bytes: 0 },
});

/** A text in which nothing but `LATER` stands for large rows, and these. */
function withoutLarge(text: Piece): { text: Piece; large: LargeRow[] } {
  const large: LargeRow[] = [];
  if (!text.includes(LATER)) return { text, large };
  const marked = text.toString().replace(LATER_ROW, (_, seq, bytes) => {
    large.push({ seq: Number(seq), bytes: Number(bytes) });
    return LATER;
  });
  return { text: marked, large };
}

/** Rows that fit into a page together, all of them, but those that are gone. */
export async function compose(
  db: Queries,
  { table, seq, member, params = [] }: Members,
  picked: readonly { seq: number }[],
): Promise<Piece> {
  const found = await db.get<{ look: Piece }>(
    sql`${PICKED} SELECT ${bytes(all('member'))} AS look
      FROM (SELECT ${member?.(orMark(seq)) ?? 'NULL'} AS member
        FROM picked ${JOIN} ${table} ON ${seq} = picked.seq${inOrder('picked.place')}) AS composed`,
    JSON.stringify(picked.map(({ seq }) => seq)),
    ...params,
  );
  return found?.look ?? '';
}

/** A text whose blanks are filled in. @param written what stands in the place of what was blank */
export function filled(text: Piece, written: (blank: string) => string | number): Piece {
  if (!text.includes(BLANK)) return text;
  const parts = text.toString().split(BLANK);
  let whole = parts[0] as string;
  for (let i = 1; i < parts.length; i += 2) whole += `${written(parts[i] as string)}${parts[i + 1]}`;
  return whole;
}
