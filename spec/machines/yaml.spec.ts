import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compact, members } from '../../machines/json/raw.ts';
import { YamlError, yamlToJson } from '../../machines/json/yaml.ts';
import { type JsonText, jsonText } from './json-text.ts';

/** The JSON text of a scalar, through a document with one member. */
const written = (scalar: string) => members(yamlToJson(`a: ${scalar}`)).get('a');

/** Asserts that the text is refused, at a line and a column, in words that match. */
function refused(text: string, line: number, column: number, words: RegExp): void {
  assert.throws(
    () => yamlToJson(text),
    (fault) => {
      assert.ok(fault instanceof YamlError, String(fault));
      assert.deepEqual(
        [fault.line, fault.column],
        [line, column],
        `${fault.message} in ${JSON.stringify(text)}`,
      );
      assert.match(fault.message, words);
      assert.ok(fault.message.startsWith(`line ${line}, column ${column}: `), fault.message);
      assert.ok(fault.message.length < 200, 'a fault repeats no more of the text than helps');
      return true;
    },
  );
}

describe('a number in YAML', () => {
  for (const number of [
    '1',
    '-1',
    '0',
    '-0',
    '1.0',
    '-2.50',
    '1e-3',
    '1E+3',
    '1.5E-07',
    '0e0',
    '1e400',
    '12345678901234567890',
    '0.1000',
  ]) {
    it(`stays ${number} as it is written`, () => {
      assert.equal(written(number), number);
      assert.equal(written(`${number}   # a comment`), number);
      assert.equal(yamlToJson(`[${number}, ${number}]`), `[${number},${number}]`);
    });
  }

  for (const [yaml, json] of [
    ['.5', '0.5'],
    ['-.5', '-0.5'],
    ['+.5', '0.5'],
    ['+1', '1'],
    ['1.', '1.0'],
    ['-1.', '-1.0'],
    ['1.e3', '1.0e3'],
    ['007', '7'],
    ['-007', '-7'],
    ['00.5', '0.5'],
    ['01e3', '1e3'],
    ['0x1F', '31'],
    ['0xffffffffffffffffffff', '1208925819614629174706175'],
    ['0o17', '15'],
    ['!!int "3"', '3'],
  ] as const) {
    it(`that JSON writes differently keeps its value: ${yaml} is ${json}`, () => {
      assert.equal(written(yaml), json);
    });
  }

  it('is a number only where YAML 1.2 says so: the rest is text', () => {
    for (const text of '1_000 0b1 -0x1 0x .e3 1:30 2001-12-14t21:59:43.10-05:00 1.2.3 1e --1'.split(' ')) {
      assert.equal(written(text), JSON.stringify(text));
    }
    assert.equal(written('"1.0"'), '"1.0"');
    assert.equal(written("'1'"), '"1"');
    assert.equal(written('!!str 1.0'), '"1.0"');
    assert.equal(written('! 12'), '"12"');
  });

  it('without a JSON form is refused: infinite, not a number, or longer than anybody writes', () => {
    refused('a: .nan', 1, 4, /\.nan has no JSON form/);
    refused('a:\n  - -.inf', 2, 5, /-\.inf has no JSON form/);
    refused('a: .Inf', 1, 4, /no JSON form/);
    refused(`a: 0x${'f'.repeat(300)}`, 1, 4, /no JSON form/);
  });
});

describe('a word in YAML', () => {
  it('is null or boolean as in YAML 1.2, otherwise text', () => {
    assert.equal(yamlToJson('[null, ~, , true, FALSE]'.replace(', ,', ', "",')), '[null,null,"",true,false]');
    assert.equal(yamlToJson('a:\nb: Null'), '{"a":null,"b":null}');
    assert.equal(
      yamlToJson('[yes, no, on, off, y, n, nil, None]'),
      '["yes","no","on","off","y","n","nil","None"]',
    );
  });

  it('may span lines and hold what needs an escape in JSON', () => {
    assert.equal(yamlToJson('a: |\n  x\n  "y"\n'), '{"a":"x\\n\\"y\\"\\n"}');
    assert.equal(yamlToJson('a: >-\n  x\n  y\n'), '{"a":"x y"}');
    assert.equal(yamlToJson('a: "\\u00e9\\ud83d\\ude00\\t"'), '{"a":"é😀\\t"}');
  });
});

describe('the keys of a YAML mapping', () => {
  it('keep the order in which they are written, also those that look like numbers', () => {
    assert.equal(yamlToJson('10: a\n2: b\nx: c\n1: d'), '{"10":"a","2":"b","x":"c","1":"d"}');
  });

  it('are text as written', () => {
    assert.equal(yamlToJson('1.0: a\n1: b\n0x10: c\n"1.00": d'), '{"1.0":"a","1":"b","0x10":"c","1.00":"d"}');
    assert.equal(yamlToJson('true: a\n"": b\n__proto__: c'), '{"true":"a","":"b","__proto__":"c"}');
    assert.equal(yamlToJson('x: &k name\n*k : 1'), '{"x":"name","name":1}');
  });

  it('must be text: no list, no mapping, nothing at all', () => {
    refused('a: 1\n? [b]\n: 2', 2, 3, /a key must be text/);
    refused('a:\n  b: 1\n  ? {c: 1}\n  : 2', 3, 5, /a key must be text/);
    refused('a:\n  : 2', 2, 3, /a key must be text/);
    refused('~: 2', 1, 1, /a key must be text/);
    refused('x: &k [b]\n*k : 1', 2, 1, /a key must be text/);
  });

  it('occur once, however they are spelled', () => {
    refused('a: 1\nb: 2\na: 3', 3, 1, /the key "a" occurs twice/);
    refused("{b: 1, a: 1, 'a': 2}", 1, 14, /the key "a" occurs twice/);
    refused('1: a\n"1": b', 2, 1, /the key "1" occurs twice/);
    refused('x:\n  a: 1\n  True: 1\n  true: 2', 4, 3, /the key "true" occurs twice/);
    refused(`${'k'.repeat(500)}: 1\n${'k'.repeat(500)}: 2`, 2, 1, /occurs twice/);
    assert.equal(yamlToJson('a: {a: 1}\nb: {a: 2}'), '{"a":{"a":1},"b":{"a":2}}', 'each mapping for itself');
  });

  it('are not merged into others', () => {
    refused('a: &a {x: 1}\nb:\n  <<: *a\n  y: 2', 3, 3, /merge keys \('<<'\) are not supported/);
    assert.equal(yamlToJson('"<<": 1'), '{"<<":1}');
  });
});

describe('an alias in YAML', () => {
  it('stands for its anchor, numbers as written', () => {
    assert.equal(yamlToJson('a: &n 1.0\nb: *n\nc: [*n, *n]'), '{"a":1.0,"b":1.0,"c":[1.0,1.0]}');
    assert.equal(yamlToJson('a: &m {x: [1.50]}\nb: *m'), '{"a":{"x":[1.50]},"b":{"x":[1.50]}}');
    assert.equal(yamlToJson('a: &e\nb: *e'), '{"a":null,"b":null}');
    assert.equal(yamlToJson('&k a: *k'), '{"a":"a"}');
  });

  it('means the last anchor of that name before it, also when another one repeats it', () => {
    assert.equal(yamlToJson('a: &x 1\nb: *x\nc: &x 2\nd: *x'), '{"a":1,"b":1,"c":2,"d":2}');
    assert.equal(
      yamlToJson('a: &a {b: &b [1], c: *b}\nd: &b 7\ne: *a\nf: *b'),
      '{"a":{"b":[1],"c":[1]},"d":7,"e":{"b":[1],"c":[1]},"f":7}',
    );
  });

  it('without an anchor before it is refused', () => {
    refused('a: 1\nb: [1, *x]', 2, 8, /no anchor &x before/);
    refused('a: *x\nb: &x 1', 1, 4, /no anchor &x before/);
    refused('*x : 1', 1, 1, /no anchor &x before/);
  });

  it('within its own anchor is refused', () => {
    refused('a: &a [1, *a]', 1, 11, /contains it/);
    refused('a: &a\n  b:\n    c: *a', 3, 8, /contains it/);
  });

  it('cannot make a huge document of a small one, not even one of empty values', () => {
    const laughs = [...'bcdefgh'].map(
      (c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefg'[i]}`).join(',')}]`,
    );
    assert.throws(
      () => yamlToJson(`a: &a []\n${laughs.join('\n')}`),
      /aliases repeat more than 1000000 values/,
    );
    const long = `a: &a ${'x'.repeat(4 * 1024 * 1024)}\nb: [${Array(16).fill('*a').join(',')}]`;
    refused(long, 1, 7, /expands to more than 16 MiB/);
  });
});

describe('a YAML text', () => {
  it('may be empty, or hold comments only: then it is null', () => {
    for (const text of ['', '\n', '# nothing\n', '---\n', '--- # nothing'])
      assert.equal(yamlToJson(text), 'null');
  });

  it('may begin and end as documents do', () => {
    assert.equal(yamlToJson('%YAML 1.2\n---\na: 010\n...\n'), '{"a":10}');
    assert.equal(yamlToJson('\uFEFFa: 1\r\nb:\t2\r\n'), '{"a":1,"b":2}');
  });

  it('holds one document: a second one is refused where it begins', () => {
    refused('a: 1\n---\nb: 2\n', 2, 1, /a second document/);
    refused('---\na: 1\n---\n', 3, 1, /a second document/);
    refused('a: 1\n...\nb: 2', 3, 1, /a second document/);
  });

  it('that says it is YAML 1.1 is refused: there 010 is 8 and yes is true', () => {
    refused('%YAML 1.1\n---\na: 010', 1, 1, /YAML 1\.1 .* write YAML 1\.2/);
  });

  it('with a tag that is unknown or contradicts the value is refused rather than read without it', () => {
    for (const value of [
      '!mine x',
      '!!binary aGk=',
      '!!timestamp 2001-01-01',
      '!!python/tuple [1]',
      '!!set {a, b}',
      '!!map [1]',
      '!!seq {a: 1}',
      '!!float 3',
      '!!int 1.5',
      '!!bool "yes"',
      '!!null x',
      '!e!x 1',
    ]) {
      refused(`a: 1\nb: ${value}`, 2, 4, /tag/);
    }
    assert.equal(
      yamlToJson('[!!map {a: !!bool true}, !!seq [!!float 1.0], !!null ""]'),
      '[{"a":true},[1.0],null]',
    );
  });

  it('with a fault is refused at its line and column', () => {
    refused('a: 1\n\tb: 2', 2, 1, /[Tt]ab/);
    refused('a:\n\tb: 1', 2, 1, /[Tt]ab/);
    refused('a: b: c', 1, 4, /Nested mappings/);
    refused('a: [1, 2\nb: 3', 2, 1, /must be sufficiently indented and end with a \]/);
    refused('a: 1\nb: "x\n', 3, 1, /closing "quote/);
    refused('- a\nb: c', 2, 1, /Unexpected/);
    refused('a: 1\nb: `x`', 2, 4, /reserved character/);
    refused('a: "\\q"', 1, 5, /escape/);
    refused('a: 1\r\nb: @x\r\n', 2, 4, /reserved character/);
  });

  it('nests up to 500 levels', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    assert.equal(yamlToJson(nested(500)), nested(500));
    refused(nested(501), 1, 501, /nested deeper than 500 levels/);
    const chain = Array.from({ length: 501 }, (_, i) =>
      i === 0 ? 'a0: &a0 1' : `a${i}: &a${i} [*a${i - 1}]`,
    );
    assert.doesNotThrow(() => yamlToJson(chain.slice(0, 500).join('\n')));
    assert.throws(
      () => yamlToJson(chain.join('\n')),
      /nested deeper than 500 levels/,
      'also through aliases',
    );
  });

  it('that nests without end is refused, and does not exhaust the stack', () => {
    for (const opening of ['[', '{', '- ', '? ', '[{']) {
      for (const levels of [600, 3000]) {
        assert.throws(() => yamlToJson(opening.repeat(levels)), /nested deeper than 500 levels/, opening);
      }
    }
  });
});

/** Whether YAML reads the document as JSON does: it refuses repeated keys, and long ones before a colon. */
const isYaml = ({ members: pairs = [], elements = [] }: JsonText): boolean =>
  new Set(pairs.map(([key]) => key)).size === pairs.length &&
  [...pairs.map(([, value]) => value), ...elements].every(isYaml);

describe('a JSON text read as YAML', () => {
  it('has the same value, with every number as written', () => {
    fc.assert(
      fc.property(jsonText.filter(isYaml), (doc) => {
        const numbers = (text: string) => text.replaceAll(/"(\\.|[^"\\])*"/g, '""');
        const json = yamlToJson(doc.text);
        assert.equal(numbers(json), numbers(compact(doc.text)));
        assert.deepEqual(JSON.parse(json), JSON.parse(doc.text));
      }),
      { numRuns: 200 },
    );
  });
});
