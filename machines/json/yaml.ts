import { isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from 'yaml';
import { MAX_DEPTH } from './depth.ts';
import { type FaultAt, parseYaml, TOO_DEEP } from './yaml-document.ts';

export { YamlError } from './yaml-document.ts';

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
/** Bound what aliases may expand to, so that a small text cannot become a huge document: no larger than JSON may be. */
const MAX_OUTPUT = 16 * 1024 * 1024;
const MAX_REPEATED_NODES = 1_000_000;

/** Longer integers are not what people write in base 16 or 8, and take long to convert. */
const BASED_INTEGER = /^0(x[0-9a-fA-F]{1,256}|o[0-7]{1,256})$/;

/**
 * Rewrites a YAML 1.2 text as JSON text: keys in the order written, numbers digit by digit as written
 * (`1.0`, `1e-3` and integers beyond 2^53 included). What JSON cannot say in the same digits is put in
 * its nearest JSON spelling: `.5` is `0.5`, `+1` is `1`, `0x1F` is `31`. What would change its meaning on the
 * way (unknown tags, `.nan`, merge keys, a second document, YAML 1.1) is refused. Throws `YamlError`.
 */
export function yamlToJson(text: string): string {
  const { doc, faultAt } = parseYaml(text);
  return new Writer(faultAt).write(doc.contents, 0);
}

class Writer {
  readonly #faultAt: FaultAt;
  readonly #anchors = new Map<string, Node>();
  /** What each alias stands for; an anchor may be set anew behind it. */
  readonly #targets = new Map<Node, Node>();
  /** The nodes being written, outermost first. */
  readonly #open = new Set<Node>();
  #written = 0;
  /** How many aliases enclose what is being written. */
  #within = 0;
  #repeated = 0;

  constructor(faultAt: FaultAt) {
    this.#faultAt = faultAt;
  }

  write(node: unknown, depth: number): string {
    if (node === null || node === undefined) return this.#count('null', 0);
    const offset = offsetOf(node, 0);
    if (isAlias(node)) return this.#repeat(node, depth);
    this.#note(node as Node);
    if (isScalar(node)) return this.#count(this.#scalar(node, offset), offset);
    if (!isSeq(node) && !isMap(node)) throw this.#faultAt('this kind of node has no JSON form', offset);
    if (depth >= MAX_DEPTH) throw this.#faultAt(TOO_DEEP, offset);
    this.#open.add(node);
    const text = isSeq(node)
      ? `[${node.items.map((item) => this.write(item, depth + 1)).join(',')}]`
      : `{${this.#pairs(node, depth).join(',')}}`;
    this.#open.delete(node);
    this.#written += 2 + node.items.length;
    return text;
  }

  #repeat(alias: Node, depth: number): string {
    const target = this.#target(alias);
    if (this.#open.has(target)) {
      throw this.#faultAt('an alias stands for a value that contains it', offsetOf(alias, 0));
    }
    this.#within++;
    const text = this.write(target, depth);
    this.#within--;
    return text;
  }

  #target(alias: Node): Node {
    const { source } = alias as Node & { source: string };
    const target = this.#targets.get(alias) ?? this.#anchors.get(source);
    if (!target)
      throw this.#faultAt(`there is no anchor &${short(source)} before this alias`, offsetOf(alias, 0));
    this.#targets.set(alias, target);
    return target;
  }

  #note(node: Node): void {
    if (this.#within > 0) {
      if (++this.#repeated <= MAX_REPEATED_NODES) return;
      throw this.#faultAt(`aliases repeat more than ${MAX_REPEATED_NODES} values`, offsetOf(node, 0));
    }
    if ('anchor' in node && node.anchor) this.#anchors.set(node.anchor, node);
  }

  #count(piece: string, offset: number): string {
    this.#written += piece.length;
    if (this.#written > MAX_OUTPUT) throw this.#faultAt('the document expands to more than 16 MiB', offset);
    return piece;
  }

  #pairs(map: YAMLMap, depth: number): string[] {
    const keys = new Set<string>();
    return map.items.map((pair) => {
      const offset = offsetOf(pair.key, offsetOf(map, 0));
      const key = this.#key(pair.key, offset);
      if (keys.has(key)) throw this.#faultAt(`the key ${short(key)} occurs twice`, offset);
      keys.add(key);
      return `${this.#count(key, offset)}:${this.write(pair.value, depth + 1)}`;
    });
  }

  /** A key as JSON text. Numbers are keys as they are written. */
  #key(node: unknown, offset: number): string {
    if (isAlias(node)) return this.#key(this.#target(node), offset);
    if (!isScalar(node) || node.value === null) throw this.#faultAt('a key must be text', offset);
    this.#note(node);
    if (node.value === '<<' && node.type === 'PLAIN') {
      throw this.#faultAt("merge keys ('<<') are not supported", offset);
    }
    const isNumber = typeof node.value === 'number' && node.source !== undefined;
    return JSON.stringify(isNumber ? node.source : String(node.value));
  }

  #scalar(node: Scalar, offset: number): string {
    const { value } = node;
    return typeof value === 'number'
      ? this.#number(node.source ?? String(value), offset)
      : JSON.stringify(value);
  }

  #number(source: string, offset: number): string {
    if (JSON_NUMBER.test(source)) return source;
    if (BASED_INTEGER.test(source)) return BigInt(source).toString();
    const spelled = source
      .replace(/^\+/, '')
      .replace(/^(-?)0+(?=\d)/, '$1')
      .replace(/^(-?)\./, '$10.')
      .replace(/\.(?=$|[eE])/, '.0');
    if (JSON_NUMBER.test(spelled)) return spelled;
    throw this.#faultAt(`the number ${short(source)} has no JSON form`, offset);
  }
}

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

const offsetOf = (node: unknown, otherwise: number): number =>
  (node as Node | null | undefined)?.range?.[0] ?? otherwise;
