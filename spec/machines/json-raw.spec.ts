import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { at, compact, compose, elements, members, parseTolerant, RawJson } from '../../machines/json/raw.ts';
import { type JsonText, jsonText, spacedJson } from './json-text.ts';

describe('the members of a JSON object', () => {
  it('come in the order written, each exactly as it was written', () => {
    const params = '{ "b": 1.0, "a" : 1e-3 ,"10":12345678901234567890, "2" :[1.50 , {"x":-0.0}]\n}';
    assert.deepEqual(
      [...members(params)],
      [
        ['b', '1.0'],
        ['a', '1e-3'],
        ['10', '12345678901234567890'],
        ['2', '[1.50 , {"x":-0.0}]'],
      ],
    );
  });

  it('may hold brackets, quotes and escapes in their strings', () => {
    const text = '{"a\\"}":"}],\\\\","\\u005f_proto__":"[","b\\\\":{"c":"\\""}}';
    assert.deepEqual(
      [...members(text)],
      [
        ['a"}', '"}],\\\\"'],
        ['__proto__', '"["'],
        ['b\\', '{"c":"\\""}'],
      ],
    );
  });

  it('keep the last value of a repeated key, in the place of the first', () => {
    assert.deepEqual(
      [...members('{"a":1,"b":2,"\\u0061":3.0}')],
      [
        ['a', '3.0'],
        ['b', '2'],
      ],
    );
  });

  it('do not exist in anything else', () => {
    for (const text of ['{}', ' { } ', '[{"a":1}]', '"{"', '1', 'null', '']) {
      assert.equal(members(text).size, 0, text);
    }
  });

  it('are the pieces that the text was composed of', () => {
    fc.assert(
      fc.property(spacedJson, ({ doc, text }) => {
        const expected = new Map((doc.members ?? []).map(([key, value]) => [key, value.text]));
        assert.deepEqual([...members(text)], [...expected]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the elements of a JSON array', () => {
  it('come one by one as they were written', () => {
    assert.deepEqual(elements(' [1.0 ,"]," , [2e5],{"a":[ ]},\ntrue]'), [
      '1.0',
      '"],"',
      '[2e5]',
      '{"a":[ ]}',
      'true',
    ]);
  });

  it('do not exist in anything else', () => {
    for (const text of ['[]', ' [ ] ', '{"a":[1]}', '"[1]"', '1', ''])
      assert.deepEqual(elements(text), [], text);
  });

  it('are the pieces that the text was composed of', () => {
    fc.assert(
      fc.property(spacedJson, ({ doc, text }) => {
        assert.deepEqual(
          elements(text),
          (doc.elements ?? []).map((element) => element.text),
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('a piece of a JSON document', () => {
  it('is found by names and numbers, as it was written', () => {
    const job = '{"pipeline":{"inline":[{"n":1.0},{"n":2.50}]},"1":{"x":null}}';
    assert.equal(at(job, 'pipeline', 'inline', 1, 'n'), '2.50');
    assert.equal(at(job, '1', 'x'), 'null');
    assert.equal(at(job), job);
  });

  it('is not there where the path leads nowhere', () => {
    const text = '{"a":[1],"b":{"0":2}}';
    assert.equal(at(text, 'c', 'd', 0), undefined);
    assert.equal(at(text, 'a', 1), undefined);
    assert.equal(at(text, 'a', '0'), undefined, 'a name is not a number');
    assert.equal(at(text, 'b', 0), undefined, 'nor a number a name');
    assert.equal(at(text, 'toString'), undefined);
  });
});

describe('a compact document', () => {
  it('has no white space between its tokens, and all of it within its strings', () => {
    assert.equal(compact('\n{ "a b" : "c  \\" d",\t"e":[ 1.0 , 2 ] }\r\n'), '{"a b":"c  \\" d","e":[1.0,2]}');
  });

  it('is otherwise the document as written', () => {
    fc.assert(
      fc.property(spacedJson, ({ doc, text }) => {
        assert.equal(compact(text), doc.tight);
        assert.equal(compact(doc.tight), doc.tight);
      }),
      { numRuns: 300 },
    );
  });
});

/** The document taken apart and handed to `compose` again: everything below the first level as it is written. */
function reassemble(doc: JsonText): string {
  if (doc.kind === 'array') return compose(elements(doc.text).map((text) => new RawJson(text)));
  const parts = [...members(doc.text)].map(
    ([key, text]) => `${JSON.stringify(key)}:${compose(new RawJson(text))}`,
  );
  return doc.kind === 'object' ? `{${parts.join(',')}}` : compose(new RawJson(doc.text));
}

describe('a composed document', () => {
  it('holds raw pieces unchanged, at any depth', () => {
    const params = new RawJson('{"b": 1.0, "a": 1e-3}');
    assert.equal(
      compose({ task_id: 'task_1', params, list: [params, new RawJson('7.00')], none: undefined }),
      '{"task_id":"task_1","params":{"b": 1.0, "a": 1e-3},"list":[{"b": 1.0, "a": 1e-3},7.00]}',
    );
  });

  it('is what JSON.stringify gives where nothing is raw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.equal(compose(value), JSON.stringify(value));
      }),
    );
    assert.equal(compose([undefined, { a: undefined }, Number.NaN]), '[null,{},null]');
    assert.equal(compose(undefined), 'null');
    assert.equal(compose(JSON.parse('{"__proto__":{"a":1}}')), '{"__proto__":{"a":1}}');
  });

  it('means the same when it is made of the pieces of another', () => {
    fc.assert(
      fc.property(jsonText, (doc) => {
        assert.deepEqual(JSON.parse(reassemble(doc)), JSON.parse(doc.text));
      }),
      { numRuns: 300 },
    );
  });

  it('can be read as a value', () => {
    assert.deepEqual(new RawJson('{"a":[1.50]}').parse(), { a: [1.5] });
  });
});

describe('a body with numbers that JSON does not have', () => {
  it('reads NaN and the infinities as null, wherever a value may stand', () => {
    assert.deepEqual(parseTolerant('{"a":NaN,"b":[Infinity, -Infinity ,1],"c":-1}'), {
      a: null,
      b: [null, null, 1],
      c: -1,
    });
    assert.equal(parseTolerant('NaN'), null);
    assert.equal(parseTolerant(' -Infinity'), null);
  });

  it('leaves them alone within strings and keys', () => {
    const text = '{"NaN":"-Infinity","a\\"NaN":"\\\\","b":NaN,"c":"NaN\\"Infinity"}';
    assert.deepEqual(parseTolerant(text), { NaN: '-Infinity', 'a"NaN': '\\', b: null, c: 'NaN"Infinity' });
  });

  it('reads a number too large to be finite as null, too', () => {
    assert.deepEqual(parseTolerant('{"a":1e400,"b":[-1E+999,NaN],"c":1e30,"d":"1e400"}'), {
      a: null,
      b: [null, null],
      c: 1e30,
      d: '1e400',
    });
    assert.deepEqual(parseTolerant(`[${'9'.repeat(400)},${'9'.repeat(300)}]`), [
      null,
      Number('9'.repeat(300)),
    ]);
  });

  it('is refused where it is not JSON for another reason', () => {
    for (const text of [
      '',
      '{"a":nan}',
      '[NaN',
      '{NaN:1}',
      '[+Infinity]',
      '[-NaN]',
      '[1NaN]',
      '[NaNInfinity]',
      '"NaN',
      "{'a':NaN}",
    ]) {
      assert.throws(() => parseTolerant(text), SyntaxError, text);
    }
  });

  it('reads all other JSON like JSON.parse', () => {
    fc.assert(
      fc.property(spacedJson, ({ text }) => {
        const finite = JSON.parse(text, (_, value) =>
          typeof value === 'number' && !Number.isFinite(value) ? null : value,
        );
        assert.deepEqual(parseTolerant(text), finite);
      }),
      { numRuns: 300 },
    );
  });

  it('has them read as null in every place of any document', () => {
    fc.assert(
      fc.property(jsonText, fc.constantFrom('NaN', 'Infinity', '-Infinity'), (doc, word) => {
        const put = (value: string) => `{"before":${doc.text},"here" : [${value}],"NaN":${doc.text}}`;
        assert.deepEqual(parseTolerant(put(word)), parseTolerant(put('null')));
      }),
    );
  });
});
