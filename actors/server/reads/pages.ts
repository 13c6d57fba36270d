/**
 * Bytes of the rows that one statement brings, about: whatever the length of an answer and however slowly its client
 * takes it, no more of it than that is in memory, and the driver never makes a longer text. A row by itself may have
 * more only by as much as its short columns have; see `long-values.ts` for the long ones.
 */
export const PAGE_BYTES = 256 * 1024;
/** Rows that are looked at together. */
const PAGE_ROWS = 500;

/** A row that belongs to an answer, before it is read: what a page of it will take, in bytes. */
export interface RowHead {
  bytes: number;
}

interface Listing<Head extends RowHead> {
  /** The next rows behind one, in the order of the answer; fewer than asked for only at the end. */
  plan(after: Head | null, rows: number): Promise<Head[]>;
  /** These rows' texts, joined by commas; the empty text when none of them belongs to the answer any more. */
  compose(heads: Head[]): Promise<string>;
  /** Rows of the whole answer, at most. */
  limit?: number | undefined;
}

/**
 * The members of an array or object, in pieces. Each page is a statement of its own, which holds no snapshot while
 * the client takes its time: rows that come or change meanwhile may show or not, but none is torn or comes twice.
 */
export async function* inPages<Head extends RowHead>(listing: Listing<Head>): AsyncGenerator<string> {
  const { plan, compose, limit = Number.POSITIVE_INFINITY } = listing;
  let before = '';
  let left = limit;
  const ahead = (last: Head | null) => {
    const rows = Math.min(PAGE_ROWS, left);
    const planned = rows === 0 ? Promise.resolve([]) : plan(last, rows);
    // Who needs no more does not hear of it.
    planned.catch(() => {});
    left -= rows;
    return { rows, planned };
  };
  for (let next = ahead(null); ; ) {
    const heads = await next.planned;
    const isLast = heads.length < next.rows || left === 0;
    // While this page is composed and sent, the store looks for the next one.
    if (!isLast) next = ahead(heads.at(-1) as Head);
    for (let from = 0; from < heads.length; ) {
      const page = fitting(heads, from);
      const text = await compose(page);
      if (text !== '') yield before + text;
      if (text !== '') before = ',';
      from += page.length;
    }
    if (isLast) return;
  }
}

/** The members of several lists, one list behind the other, in pieces; each begins as if it were the first. */
export async function* joinedLists(lists: readonly AsyncIterable<string>[]): AsyncGenerator<string> {
  let isFirst = true;
  for (const list of lists) {
    let before = isFirst ? '' : ',';
    for await (const piece of list) {
      yield before + piece;
      before = '';
      isFirst = false;
    }
  }
}

/** As many rows as fit into a page, at least one. */
export function fitting<Head extends RowHead>(heads: readonly Head[], from: number): Head[] {
  let bytes = 0;
  let to = from;
  for (; to < heads.length; to++) {
    bytes += (heads[to] as Head).bytes;
    if (bytes > PAGE_BYTES && to > from) break;
  }
  return heads.slice(from, to);
}
