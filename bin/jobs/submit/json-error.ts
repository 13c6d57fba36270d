import { AppError } from '../../../machines/protocol/app-error.ts';

/** Where a text stops being JSON, and what was expected there. Lines and columns count from 1. */
export interface JsonSyntaxError {
  message: string;
  line: number;
  column: number;
}

/**
 * Finds the first fault of a text that `JSON.parse` refused; the engine's own message often names no place.
 * Returns undefined for valid JSON.
 */
export function findJsonError(text: string): JsonSyntaxError | undefined {
  const scanner = new Scanner(text);
  try {
    scanner.document();
    return undefined;
  } catch (error) {
    const [message, offset] =
      error instanceof Stop ? [error.message, error.offset] : ['nested too deeply', scanner.offset];
    const before = text.slice(0, offset).split('\n');
    return { message, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.+-])/y;
const LITERAL = /(?:true|false|null)(?!\w)/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class Stop extends AppError {
  readonly code = 'invalid_json';
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** Walks a text by the grammar of RFC 8259 and stops at the first departure from it. */
class Scanner {
  offset = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    this.#value();
    if (this.#next() !== undefined) this.#stop(`expected the end of the text, found ${this.#found()}`);
  }

  /** The next character that is not white space. */
  #next(): string | undefined {
    while (' \t\n\r'.includes(this.#text[this.offset] ?? '_')) this.offset++;
    return this.#text[this.offset];
  }

  #value(): void {
    const char = this.#next();
    if (char === '{') this.#list('}', () => this.#member());
    else if (char === '[') this.#list(']', () => this.#value());
    else if (char === '"') this.#string();
    else if (!this.#eat(NUMBER) && !this.#eat(LITERAL))
      this.#stop(`expected a value, found ${this.#found()}`);
  }

  #list(close: string, item: () => void): void {
    this.offset++;
    if (this.#next() === close) {
      this.offset++;
      return;
    }
    for (;;) {
      item();
      const char = this.#next();
      if (char !== ',' && char !== close)
        this.#stop(`expected ',' or '${close}' here, found ${this.#found()}`);
      const comma = this.offset++;
      if (char === close) return;
      if (this.#next() === close) this.#stop(`a comma right before '${close}' is not allowed`, comma);
    }
  }

  #member(): void {
    if (this.#next() !== '"') this.#stop(`expected a name in double quotes, found ${this.#found()}`);
    this.#string();
    if (this.#next() !== ':') this.#stop(`expected ':' after the name, found ${this.#found()}`);
    this.offset++;
    this.#value();
  }

  #string(): void {
    const start = this.offset++;
    for (;;) {
      const char = this.#text[this.offset];
      if (char === undefined) this.#stop('this text has no closing quote', start);
      if (char === '\\') {
        if (!this.#eat(ESCAPE)) this.#stop('this escape is unknown to JSON');
      } else if (char < ' ') {
        this.#stop(
          char === '\n' ? 'this text has no closing quote on its line' : 'a control character',
          start,
        );
      } else {
        this.offset++;
        if (char === '"') return;
      }
    }
  }

  #eat(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset;
    const match = pattern.exec(this.#text);
    this.offset += match?.[0].length ?? 0;
    return match !== null;
  }

  #found(): string {
    const char = String.fromCodePoint(this.#text.codePointAt(this.offset) ?? 0);
    return this.offset < this.#text.length ? `'${char}'` : 'the end of the text';
  }

  #stop(message: string, offset = this.offset): never {
    throw new Stop(message, offset);
  }
}
