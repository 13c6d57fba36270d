import { fromStored } from './texts.ts';

/* How values of PostgreSQL are read: as those of SQLite are. */

/** Numbers of PostgreSQL's types (pg_type). */
const TYPES = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, float4: 700, float8: 701, numeric: 1700 };

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is no number that JavaScript has exactly`);
  return value;
}

const PARSERS = new Map<number, (text: string) => unknown>([
  [TYPES.bool, (text) => (text === 't' ? 1 : 0)],
  [TYPES.bytea, (text) => Buffer.from(text.slice('\\x'.length), 'hex')],
  [TYPES.int2, Number],
  [TYPES.int4, Number],
  [TYPES.int8, whole],
  [TYPES.float4, Number],
  [TYPES.float8, Number],
  [TYPES.numeric, Number],
]);

/** Everything that is not in the list comes as text. */
export const valueTypes = {
  getTypeParser: (type: number) => PARSERS.get(type) ?? fromStored,
};
