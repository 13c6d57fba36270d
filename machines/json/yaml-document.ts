import { Composer, type CST, type Document, LineCounter, Parser } from 'yaml';
import { AppError } from '../protocol/app-error.ts';
import { MAX_DEPTH } from './depth.ts';

/** A fault of a YAML text, with the place where a person can mend it. Lines and columns count from 1. */
export class YamlError extends AppError {
  readonly code = 'invalid_yaml';
  readonly line: number;
  readonly column: number;
  constructor(message: string, line: number, column: number) {
    super(`line ${line}, column ${column}: ${message}`);
    this.line = line;
    this.column = column;
  }
}

/** Makes the fault at an offset of the text. */
export type FaultAt = (message: string, offset: number) => YamlError;

export const TOO_DEEP = `nested deeper than ${MAX_DEPTH} levels`;

const SECOND_DOCUMENT = "the text holds a second document (after '---' or '...'); give one";
const UNKNOWN_TAG = 'this tag is not known, or does not fit the value';

/**
 * Parses a text that holds one document of YAML 1.2, and refuses what would change its meaning in silence: a
 * second document, a tag that is unknown or says other than the value, YAML 1.1. Repeated keys are left to the
 * caller, for the package compares every key with all keys before it. Throws `YamlError`.
 */
export function parseYaml(text: string): { doc: Document.Parsed; faultAt: FaultAt } {
  const lines = new LineCounter();
  const faultAt: FaultAt = (message, offset) => {
    const { line, col } = lines.linePos(offset);
    return new YamlError(message, Math.max(line, 1), Math.max(col, 1));
  };
  const options = { version: '1.2', resolveKnownTags: false, uniqueKeys: false } as const;
  const tokens = withinDepth(new Parser(lines.addNewLine).parse(text), faultAt);
  const [doc, second] = new Composer(options).compose(tokens, true, text.length);
  const wrong = doc?.errors[0];
  if (wrong) throw faultAt(wrong.message, wrong.pos[0]);
  if (!doc || second) throw faultAt(SECOND_DOCUMENT, second?.range[0] ?? 0);
  refuseOtherMeaning(doc as Document.Parsed, faultAt);
  return { doc: doc as Document.Parsed, faultAt };
}

function refuseOtherMeaning(doc: Document.Parsed, faultAt: FaultAt): void {
  const tag = doc.warnings.find(({ code }) => code === 'TAG_RESOLVE_FAILED');
  if (tag) throw faultAt(UNKNOWN_TAG, tag.pos[0]);
  const { explicit, version } = doc.directives.yaml;
  if (explicit && version !== '1.2') {
    throw faultAt(`YAML ${version} reads numbers and words differently; write YAML 1.2`, 0);
  }
}

/**
 * Passes on what the parser yields, unless it nests too deeply: what composes nodes calls itself for each
 * level, and may take the whole process down where the stack ends within a regular expression.
 */
function* withinDepth(tokens: Iterable<CST.Token>, faultAt: FaultAt): Generator<CST.Token> {
  for (const token of tokens) {
    let level: CST.Token[] = token.type === 'document' && token.value ? [token.value] : [];
    for (let depth = 0; level.length > 0; depth++) {
      const first = level.find((inner) => 'items' in inner);
      if (depth === MAX_DEPTH && first) throw faultAt(TOO_DEEP, first.offset);
      level = level.flatMap(partsOf);
    }
    yield token;
  }
}

function partsOf(token: CST.Token): CST.Token[] {
  const items: CST.CollectionItem[] = 'items' in token ? token.items : [];
  return items.flatMap(({ key, value }) => [key ?? [], value ?? []].flat());
}
