import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type Scalar } from 'yaml';

/** A fault of a YAML text, with the place where a person can mend it. Lines and columns count from 1. */
export class YamlFault extends Error {
  readonly line: number;
  readonly column: number;
  constructor(message: string, line: number, column: number) {
    super(`line ${line}, column ${column}: ${message}`);
    this.name = 'YamlFault';
    this.line = line;
    this.column = column;
  }
}

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
/** Bounds what aliases may expand to, so that a small text cannot become a huge document. */
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Rewrites a YAML 1.2 text as JSON text: keys in the order written, numbers digit by digit as written
 * (`1.0`, `1e-3` and integers beyond 2^53 included). What JSON cannot say in the same digits is put in
 * its nearest JSON spelling: `.5` is `0.5`, `+1` is `1`, `0x1F` is `31`. Throws `YamlFault`.
 */
export function yamlToJson(text: string): string {
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    version: '1.2',
    uniqueKeys: true,
  });
  const fault = (message: string, offset: number): YamlFault => {
    const { line, col } = lines.linePos(offset);
    return new YamlFault(message, Math.max(line, 1), Math.max(col, 1));
  };
  const first = doc.errors[0];
  if (first) throw fault(first.message, first.pos[0]);
  let written = 0;
  const emit = (piece: string) => {
    written += piece.length;
    if (written > MAX_OUTPUT) throw fault('the document expands to more than 64 MiB', 0);
    return piece;
  };

  const write = (node: unknown, depth: number): string => {
    if (node === null || node === undefined) return emit('null');
    const offset = (node as Node).range?.[0] ?? 0;
    if (depth > 500) throw fault('nested deeper than 500 levels', offset);
    if (isAlias(node)) return write(node.resolve(doc), depth + 1);
    if (isSeq(node)) return `[${node.items.map((item) => write(item, depth + 1)).join(',')}]`;
    if (isMap(node)) {
      const pairs = node.items.map((pair) => `${key(pair.key, offset)}:${write(pair.value, depth + 1)}`);
      return `{${pairs.join(',')}}`;
    }
    if (isScalar(node)) return emit(scalar(node, offset));
    throw fault('this kind of YAML node has no JSON form', offset);
  };

  const key = (node: unknown, offset: number): string => {
    if (isAlias(node)) return key(node.resolve(doc), offset);
    if (!isScalar(node)) throw fault('a key must be text', offset);
    if (node.value === '<<' && node.type === 'PLAIN')
      throw fault("merge keys ('<<') are not supported", offset);
    const plain = typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
    return emit(JSON.stringify(plain));
  };

  const scalar = (node: Scalar, offset: number): string => {
    const { value } = node;
    if (typeof value === 'number' || typeof value === 'bigint') return number(node, offset);
    if (value === null || typeof value === 'boolean' || typeof value === 'string')
      return JSON.stringify(value);
    throw fault(`a value of this type (${node.tag ?? typeof value}) has no JSON form`, offset);
  };

  const number = (node: Scalar, offset: number): string => {
    const source = node.source ?? String(node.value);
    if (JSON_NUMBER.test(source)) return source;
    if (/^0[xo]/.test(source)) return BigInt(source).toString();
    const spelled = source
      .replace(/^\+/, '')
      .replace(/^(-?)0+(?=\d)/, '$1')
      .replace(/^(-?)\./, '$10.')
      .replace(/\.(?=$|[eE])/, '.0');
    if (JSON_NUMBER.test(spelled)) return spelled;
    throw fault(`the number ${source} has no JSON form`, offset);
  };

  return write(doc.contents, 0);
}
