import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { parseYaml, YamlError } from './yaml-document.ts';

/** Faults of a document that are looked for in its text. */
const MOST = 100;

/**
 * The same faults with the lines of the text, of YAML or JSON, on which they stand; of what is missing, the line of that in
 * which it is. Lines count from 1.
 */
export function withLines<F extends { path: string }>(
  text: string,
  faults: readonly F[],
): (F & { line?: number })[] {
  const lineOf = linesOf(text);
  return faults.map((fault, i) => {
    const line = i < MOST ? lineOf(fault.path) : undefined;
    return line === undefined ? fault : { ...fault, line };
  });
}

/** What finds the line of a JSON pointer. */
function linesOf(text: string): (pointer: string) => number | undefined {
  try {
    const { doc, faultAt } = parseYaml(text);
    return (pointer) => faultAt('', placeOf(doc.contents, pointer)).line;
  } catch (error) {
    // JSON of a kind that is no YAML.
    if (error instanceof YamlError || error instanceof RangeError) return () => undefined;
    throw error;
  }
}

/** The offset of a value, or of the innermost one on the way to it; of a member, that of its key. */
function placeOf(root: Node | null, pointer: string): number {
  let node: unknown = root;
  let place = root?.range?.[0] ?? 0;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const pair = isMap(node) ? pairOf(node, name) : undefined;
    const next = pair ? pair.value : isSeq(node) ? node.items[Number(name)] : undefined;
    if (!pair && next === undefined) break;
    place = ((pair?.key ?? next) as Node | null)?.range?.[0] ?? place;
    node = next;
  }
  return place;
}

const pairOf = (map: YAMLMap, name: string) =>
  map.items.find(({ key }) => isScalar(key) && (String(key.value) === name || key.source === name));
