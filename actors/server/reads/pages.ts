import type { Piece } from '../../../gateway/backend.ts';
import { LATER } from './json-text.ts';

/**
 * Bytes of the rows that one statement brings, about: whatever the length of an answer and however slowly its client
 * takes it, no more than a few times as much of it is in memory, and the driver never makes a longer text. A row by
 * itself may have more only by as much as its short columns have; see `long-values.ts` for the long ones.
 */
export const PAGE_BYTES = 256 * 1024;
/** Rows that are looked at together at most, and first of all. */
const PAGE_ROWS = { most: 2000, first: 250 };
/** Bytes that small rows should have together: each statement more is a wait for its thread. */
const TOGETHER = 2 * PAGE_BYTES;

/** A row that belongs to an answer, before it is read: what a page of it will take, in bytes. */
export interface RowHead {
  bytes: number;
}

/** The next rows of an answer. */
export interface Plan<Head extends RowHead> {
  /** How many they are, and the last of them. */
  count: number;
  last: Head | undefined;
  /** The texts of those that have come with it, joined by commas, `LATER` in the place of the others; left out where all are others. */
  text?: Piece;
  /** The others. */
  heads: Head[];
}

/** Rows none of whose texts has come with them. */
export const planned = <Head extends RowHead>(heads: Head[]): Plan<Head> => ({
  ...{ count: heads.length, last: heads.at(-1), heads },
});

interface Listing<Head extends RowHead> {
  /** The next rows behind one, in the order of the answer; fewer than asked for only at the end. */
  plan(after: Head | null, rows: number): Promise<Plan<Head>>;
  /** The text of a plan with what is put in when it is its turn. */
  fill?(text: Piece): Promise<Piece>;
  /** These rows' texts, joined by commas; the empty text when none of them belongs to the answer any more. */
  compose(heads: Head[]): Promise<Piece>;
  /** Rows of the whole answer, at most. */
  limit?: number | undefined;
}

/**
 * The members of an array or object, in pieces. Each page is a statement of its own, which holds no snapshot while
 * the client takes its time: rows that come or change meanwhile may show or not, but none is torn or comes twice.
 */
export async function* inPages<Head extends RowHead>(listing: Listing<Head>): AsyncGenerator<Piece> {
  const { plan, compose, fill = async (text: Piece) => text, limit = Number.POSITIVE_INFINITY } = listing;
  let isFirst = true;
  let left = limit;
  const ahead = (last: Head | null, most: number) => {
    const rows = Math.min(most, left);
    const coming = rows === 0 ? Promise.resolve(planned<Head>([])) : plan(last, rows);
    // Who needs no more does not hear of it.
    coming.catch(() => {});
    left -= rows;
    return { rows, coming };
  };
  for (let next = ahead(null, PAGE_ROWS.first); ; ) {
    const found = await next.coming;
    const isLast = found.count < next.rows || left === 0;
    // While these are composed and sent, the store looks for the next ones.
    if (!isLast) next = ahead(found.last as Head, rowsBehind(found));
    const { text, heads } = found;
    for (const part of text === undefined ? [heads] : partsOf(await fill(text), heads)) {
      for (let from = 0; from < part.length; ) {
        const page = Array.isArray(part) ? fitting(part, from) : part;
        const piece = Array.isArray(page) ? await compose(page) : page;
        from += page.length;
        if (piece.length === 0) continue;
        if (!isFirst) yield ',';
        isFirst = false;
        yield piece;
      }
    }
    if (isLast) return;
  }
}

/** How many rows to look at behind some: as many as make a page if they are like these. */
function rowsBehind({ count, text }: Plan<RowHead>): number {
  if (!text?.length) return PAGE_ROWS.most;
  return Math.max(1, Math.min(PAGE_ROWS.most, Math.floor((TOGETHER * count) / text.length)));
}

/** The parts of which a plan consists: texts that have come with it, and rows between them that have not. */
function partsOf<Head extends RowHead>(text: Piece, heads: Head[]): (Piece | Head[])[] {
  if (heads.length === 0) return [text];
  const parts: (Piece | Head[])[] = [];
  let run: Head[] = [];
  for (const [i, between] of text.toString().split(LATER).entries()) {
    if (i > 0) run.push(heads[i - 1] as Head);
    const texts = between.replace(/^,/, '').replace(/,$/, '');
    if (texts === '') continue;
    parts.push(run, texts);
    run = [];
  }
  return [...parts, run];
}

/** The members of several lists, one list behind the other, in pieces; each begins as if it were the first. */
export async function* joinedLists(lists: readonly AsyncIterable<Piece>[]): AsyncGenerator<Piece> {
  let isFirst = true;
  for (const list of lists) {
    let isBegun = isFirst;
    for await (const piece of list) {
      if (!isBegun) yield ',';
      isBegun = true;
      isFirst = false;
      yield piece;
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
