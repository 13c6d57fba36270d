/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * What a `Range` header asks of `size` bytes: one range; `unsatisfiable`; or null where the whole is to be sent
 * (no header, another unit, several ranges, or a text that is no range: RFC 9110 lets a server ignore these).
 * Positions may have any number of digits (RFC 9110, 14.1.1), so they are compared as whole numbers of any size.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const asked = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '');
  if (!asked) return null;
  const [, first, last] = asked as unknown as [string, string, string];
  if (first === '') return suffix(last, size);
  if (last !== '' && BigInt(last) < BigInt(first)) return null;
  const start = atMost(first, size);
  const end = last === '' ? size - 1 : atMost(last, size - 1);
  return start >= size ? 'unsatisfiable' : { start, end };
}

/** The number of a text of digits, or `most` where it is larger. */
const atMost = (digits: string, most: number): number =>
  BigInt(digits) < BigInt(most) ? Number(digits) : most;

/** `-n`: the last n bytes. */
function suffix(count: string, size: number): ByteRange | 'unsatisfiable' | null {
  if (count === '') return null;
  const length = atMost(count, size);
  return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
}

/** Whether an `If-None-Match` list names the entity tag. A weak tag counts: equal is equal for reading. */
export function matchesAny(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
