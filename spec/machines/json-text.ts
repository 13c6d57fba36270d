import fc from 'fast-check';

/** A JSON document as text, with the pieces that it was put together from. */
export interface JsonText {
  /** With white space strewn in between tokens, none around it. */
  text: string;
  /** The same without white space. */
  tight: string;
  kind: 'object' | 'array' | 'string' | 'number' | 'word';
  members?: [key: string, value: JsonText][];
  elements?: JsonText[];
}

const space = fc
  .array(fc.constantFrom(' ', '\n', '\t', '\r\n'), { maxLength: 3 })
  .map((parts) => parts.join(''));

/** Numbers as people and programs write them: what parsing and printing would change as well. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constantFrom('0', '1', '12345678901234567890'), fc.nat().map(String)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,20}$/), fc.constant('.0')),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][-+]?\d{1,3}$/)),
  )
  .map((parts) => parts.join(''));

const awkward = fc.constantFrom(
  '',
  '__proto__',
  'constructor',
  '1',
  '0',
  '{"a":[',
  '\\',
  '"',
  '\u2028',
  '😀',
  '\ud800',
  'NaN',
  '//',
  'é',
);
/** String literals, escaped as little or as much as JSON allows. */
const stringText = fc
  .tuple(fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), awkward), fc.boolean())
  .map(([value, escaped]) =>
    escaped
      ? `"${Array.from({ length: value.length }, (_, i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
      : JSON.stringify(value).replaceAll('/', '\\/'),
  );

const leaf = (kind: JsonText['kind'], texts: fc.Arbitrary<string>) =>
  texts.map((text): JsonText => ({ text, tight: text, kind }));

/** Puts a composite together from its parts, with white space wherever it is allowed. */
function join(open: string, parts: { text: string; tight: string }[], close: string, gaps: string[]) {
  const gap = (n: number) => gaps[n % gaps.length] ?? '';
  const text = parts.map((part, i) => `${gap(2 * i)}${part.text}${gap(2 * i + 1)}`).join(',') || gap(0);
  return {
    text: `${open}${text}${close}`,
    tight: `${open}${parts.map((part) => part.tight).join(',')}${close}`,
  };
}

const { document } = fc.letrec<{ document: JsonText; array: JsonText; object: JsonText }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    leaf('number', numberText),
    leaf('string', stringText),
    leaf('word', fc.constantFrom('true', 'false', 'null')),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .tuple(fc.array(tie('document'), { maxLength: 4 }), fc.array(space, { minLength: 1, maxLength: 4 }))
    .map(([elements, gaps]): JsonText => ({ ...join('[', elements, ']', gaps), kind: 'array', elements })),
  object: fc
    .tuple(
      fc.array(fc.tuple(stringText, tie('document'), space, space), { maxLength: 4 }),
      fc.array(space, { minLength: 1, maxLength: 4 }),
    )
    .map(([pairs, gaps]): JsonText => {
      const parts = pairs.map(([key, value, before, behind]) => ({
        text: `${key}${before}:${behind}${value.text}`,
        tight: `${key}:${value.tight}`,
      }));
      const members = pairs.map(([key, value]): [string, JsonText] => [JSON.parse(key) as string, value]);
      return { ...join('{', parts, '}', gaps), kind: 'object', members };
    }),
}));

/** Any JSON document. */
export const jsonText: fc.Arbitrary<JsonText> = document;
/** Any JSON document, with white space around it. */
export const spacedJson = fc.tuple(space, document, space).map(([before, doc, behind]) => ({
  doc,
  text: `${before}${doc.text}${behind}`,
}));
