import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalJson, jsonFingerprint } from '../../machines/json/canonical.ts';
import { type JsonText, jsonText, spacedJson } from './json-text.ts';

/** JSON text, its canonical form in Python, and the beginning of that form's digest. */
type Vector = [text: string, canonical: string, digest: string];
const VECTORS = JSON.parse(
  readFileSync(new URL('./canonical-vectors.json', import.meta.url), 'utf8'),
) as Vector[];

describe('the canonical form of a JSON text', () => {
  it(`is what Python's json module gives, in ${VECTORS.length} cases`, () => {
    assert.ok(VECTORS.length > 400, 'the vectors are there');
    for (const [text, canonical] of VECTORS) assert.equal(canonicalJson(text), canonical, text);
  });

  it('keeps integers apart from floats, and writes floats as Python does', () => {
    assert.equal(
      canonicalJson('[1, 1.0, 1e2, 12345678901234567890, 1e16, 1e-5, 0.0001, -0, -0.0, 1e400]'),
      '[1,1.0,100.0,12345678901234567890,1e+16,1e-05,0.0001,0,-0.0,Infinity]',
    );
  });

  it('has its keys sorted by code point, at every depth, and a repeated key once', () => {
    assert.equal(
      canonicalJson('{"\u{1F600}":1, "\uFF5E":2, "b":{"d":1, "c":2}, "a":0, "a":3}'),
      '{"a":3,"b":{"c":2,"d":1},"\\uff5e":2,"\\ud83d\\ude00":1}',
    );
  });

  it('is ASCII that can be printed', () => {
    fc.assert(
      fc.property(jsonText, (doc) => {
        assert.match(canonicalJson(doc.text), /^[\x20-\x7e]*$/);
      }),
    );
  });

  it('is its own canonical form', () => {
    fc.assert(
      fc.property(jsonText, (doc) => {
        const canonical = canonicalJson(doc.text);
        assert.equal(canonicalJson(canonical), canonical);
      }),
      { numRuns: 300 },
    );
  });

  it('does not depend on white space, nor on the order of keys', () => {
    fc.assert(
      fc.property(spacedJson, ({ doc, text }) => {
        assert.equal(canonicalJson(text), canonicalJson(doc.tight));
        assert.equal(canonicalJson(reversed(doc)), canonicalJson(doc.tight));
      }),
      { numRuns: 300 },
    );
  });

  it('means the same as the text, as far as JavaScript can tell', () => {
    fc.assert(
      fc.property(jsonText, (doc) => {
        const finite = canonicalJson(doc.text).replaceAll(/"(\\.|[^"\\])*"|-?Infinity/g, (part) => {
          return part.startsWith('"') ? part : part.replace('Infinity', '1e999');
        });
        // Python's integers have no negative zero.
        const plain = (_: string, value: unknown) => (value === 0 ? 0 : value);
        assert.deepEqual(JSON.parse(finite, plain), JSON.parse(doc.text, plain));
      }),
      { numRuns: 300 },
    );
  });

  it('does not exist beyond a thousand levels, as in Python', () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    assert.equal(canonicalJson(nested(1000)), nested(1000));
    assert.equal(canonicalJson(`[${nested(998)},${nested(998)}]`), `[${nested(998)},${nested(998)}]`);
    assert.throws(() => canonicalJson(nested(1002)), RangeError);
  });
});

describe('the fingerprint of an inline pipeline', () => {
  it('is the SHA-256 of its canonical form', () => {
    for (const [text, , digest] of VECTORS)
      assert.ok(jsonFingerprint(text).startsWith(`sha256:${digest}`), text);
    assert.equal(
      jsonFingerprint(' {"b": 1.0, "a": [] } '),
      'sha256:97103cb97ed1d393912c6ff79e7f75b921660f8e109183e7d629896d0461dc90',
    );
  });

  it('differs for 1.0 and 1, and is the same for 1e-3 and 0.001', () => {
    assert.notEqual(jsonFingerprint('{"a":1.0}'), jsonFingerprint('{"a":1}'));
    assert.equal(jsonFingerprint('{"a":1e-3}'), jsonFingerprint('{"a":0.0010}'));
  });
});

/** The document with the members of each object in reverse, as far as no key is repeated. */
function reversed({ kind, tight, members = [], elements = [] }: JsonText): string {
  if (kind === 'array') return `[${elements.map(reversed).join(',')}]`;
  if (kind !== 'object') return tight;
  const last = new Map(members.map(([key, value]) => [key, reversed(value)]));
  return `{${[...last]
    .reverse()
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
    .join(',')}}`;
}
