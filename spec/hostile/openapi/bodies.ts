import fc from 'fast-check';
import { compose, elements, members, RawJson } from '../../../machines/json/raw.ts';
import { anyPiece } from './values.ts';

/** Breaks the bytes of a body: cut off, damaged, or with something before or behind. */
export function spoil(bytes: Buffer): fc.Arbitrary<Buffer> {
  const place = fc.nat(Math.max(0, bytes.length - 1));
  const junk = fc.constantFrom(
    Buffer.from([0xff, 0xfe]),
    Buffer.from([0xc3, 0x28]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xf8, 0x88, 0x80, 0x80, 0x80]),
    Buffer.from([0]),
    Buffer.from('\ufeff'),
    Buffer.alloc(2000, ' '),
    Buffer.from('{}'),
  );
  return fc.oneof(
    place.map((end) => bytes.subarray(0, end)),
    fc.tuple(place, fc.nat(255)).map(([at, byte]) => {
      const copy = Buffer.from(bytes);
      copy[at] = byte;
      return copy;
    }),
    fc.tuple(place, junk).map(([at, b]) => Buffer.concat([bytes.subarray(0, at), b, bytes.subarray(at)])),
    junk.map((b) => Buffer.concat([b, bytes])),
    junk.map((b) => Buffer.concat([bytes, b])),
    junk,
    fc.uint8Array({ maxLength: 100 }).map((random) => Buffer.from(random)),
  );
}

/** Puts something else in one place of a JSON document, takes a member out, or gives one twice. */
export function spoilText(text: string): fc.Arbitrary<string> {
  return fc.tuple(fc.infiniteStream(fc.nat(1000)), anyPiece).map(([choices, piece]) => {
    const next = (below: number) => Number(choices.next().value) % Math.max(1, below);
    return spoilAt(text, next, compose(piece));
  });
}

type Choose = (below: number) => number;

function spoilAt(text: string, next: Choose, piece: string): string {
  const object = [...members(text)];
  const list = elements(text);
  if (object.length > 0 && next(4) > 0) return spoilMember(object, next, piece);
  if (list.length > 0 && next(3) > 0) {
    const at = next(list.length);
    list[at] = spoilAt(list[at] as string, next, piece);
    return `[${list.join(',')}]`;
  }
  return piece;
}

function spoilMember(object: [string, string][], next: Choose, piece: string): string {
  const at = next(object.length);
  const [name, value] = object[at] as [string, string];
  const pairs = object.map(([k, v]) => `${JSON.stringify(k)}:${v}`);
  switch (next(7)) {
    case 0:
      pairs.splice(at, 1);
      break;
    case 1:
      pairs.push(`${JSON.stringify(name)}:${piece}`);
      break;
    case 2:
      pairs.push(`"__proto__":{"admin":true,"${at}":${piece}}`);
      break;
    default:
      pairs[at] = `${JSON.stringify(name)}:${spoilAt(value, next, piece)}`;
  }
  return `{${pairs.join(',')}}`;
}

/** Documents that nest deeper than anybody needs, whole and cut off. */
export const nested: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('[', '{"a":', '[{"params":'),
    fc.constantFrom(100, 499, 501, 5_000, 100_000),
    fc.boolean(),
  )
  .map(([open, depth, whole]) => {
    const close = [...open].reverse().filter((c) => c === '[' || c === '{');
    const end = close.map((c) => (c === '[' ? ']' : '}')).join('');
    const inner = compose(new RawJson('1'));
    return `{"params":${open.repeat(depth)}${whole ? `${inner}${end.repeat(depth)}` : ''}}`;
  });
