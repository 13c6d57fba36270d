import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { elements, members } from '../../machines/json/raw.ts';
import { yamlToJson } from '../../machines/json/yaml.ts';
import { withLines } from '../../machines/json/yaml-lines.ts';
import { yamlText } from '../../machines/json/yaml-text.ts';
import { jsonText } from './json-text.ts';

/** JSON without what may be written in two ways; numbers as they were written. */
function plain(json: string): string {
  if (json[0] === '{')
    return `{${[...members(json)].map(([key, value]) => `${JSON.stringify(key)}:${plain(value)}`).join(',')}}`;
  if (json[0] === '[') return `[${elements(json).map(plain).join(',')}]`;
  return json[0] === '"' ? JSON.stringify(JSON.parse(json)) : json;
}

describe('JSON that is written as YAML', () => {
  it('has a member a line, but for what fits into one as a whole, and quotes where there have to be some', () => {
    const job = {
      type: 'mljs.run',
      name: 'octane: last week',
      note: 'the new lamp\n\nsecond paragraph',
      tags: ['corn', 'a paper', 'no', '1.0', 'null'],
      pipelines: [
        {
          kind: 'inline_json',
          name: 'snv',
          inline: ['snv', { pls: { components: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }],
        },
        { kind: 'path', path: '/data/pls.yaml' },
      ],
      datasets: [],
      params: { 'a:b': '', è: '#1', nested: [[1, 2], [['x'.repeat(60), 'y'.repeat(60)]]] },
    };
    const spec = JSON.stringify(job).replace('"params":{', '"params":{"alpha":1.0,"n":12345678901234567890,');
    assert.equal(
      yamlText(spec),
      `type: mljs.run
name: "octane: last week"
note: |-
  the new lamp

  second paragraph
tags: [corn, a paper, "no", "1.0", "null"]
pipelines:
  - kind: inline_json
    name: snv
    inline: [snv, { pls: { components: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }]
  - { kind: path, path: /data/pls.yaml }
datasets: []
params:
  alpha: 1.0
  n: 12345678901234567890
  "a:b": ""
  è: "#1"
  nested:
    - [1, 2]
    - - - ${'x'.repeat(60)}
        - ${'y'.repeat(60)}
`,
    );
    assert.equal(yamlToJson(yamlText(spec)), spec);
  });

  it('says the same as before, whatever it is, every number as it was written', () => {
    const around = fc.tuple(jsonText, fc.boolean()).map(([{ text }, long]) =>
      // Long names and texts take other ways.
      long ? `{"${'k'.repeat(1100)}":${text},"${'x'.repeat(88)}":[${text},"a\\nb\\n c",${text}]}` : text,
    );
    fc.assert(
      fc.property(around, (json) => {
        assert.equal(yamlToJson(yamlText(json)), plain(json));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps texts in several lines, and words that YAML reads as something else', () => {
    const text = fc.oneof(
      fc
        .array(fc.constantFrom('a', ' b', 'c ', '', '#', '- x', 'k: v', '\t', '|', '---', '...'))
        .map((lines) => lines.join('\n')),
      fc.constantFrom(
        '~',
        'Yes',
        'OFF',
        '.inf',
        '.NaN',
        '0x1F',
        '1_000',
        '<<',
        '!tag',
        '&a',
        '*a',
        '? x',
        '- x',
        '@',
        '`',
        '%',
      ),
      fc.string({ unit: 'grapheme' }),
    );
    fc.assert(
      fc.property(fc.dictionary(text, fc.array(text)), (value) => {
        const json = JSON.stringify(value);
        assert.equal(yamlToJson(yamlText(json)), plain(json));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the line of a fault', () => {
  const lineOf = (text: string, path: string) => withLines(text, [{ path }])[0]?.line;
  const yaml = `# mine
type: mljs.run
pipelines:
  - { kind: path, path: a }
  - kind: inline_json

    "in/line~": [1,
      2]
1: one
dataset: &d
  kind: path
other: *d
`;

  it('is that on which the member or element stands', () => {
    for (const [path, line] of [
      ['/', 2],
      ['/type', 2],
      ['/pipelines', 3],
      ['/pipelines/0/path', 4],
      ['/pipelines/1', 5],
      ['/pipelines/1/in~1line~0', 7],
      ['/pipelines/1/in~1line~0/1', 8],
      ['/1', 9],
      ['/dataset/kind', 11],
    ] as const)
      assert.equal(lineOf(yaml, path), line, path);
  });

  it('is that of what it is missing in', () => {
    assert.equal(lineOf(yaml, '/dataset/path'), 10);
    assert.equal(lineOf(yaml, '/pipelines/1/name'), 5);
    assert.equal(lineOf(yaml, '/other/path'), 12);
    assert.equal(lineOf(yaml, '/model'), 2);
  });

  it('is found in JSON, too, and not where a text can be read in neither', () => {
    assert.equal(lineOf('{\n\t"a": [1,\n\t{"b": 7}]\n}', '/a/1/b'), 3);
    assert.equal(lineOf('{"a": 1', '/a'), undefined);
  });
});
