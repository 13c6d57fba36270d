import { StringDecoder } from 'node:string_decoder';

/**
 * Longer lines are handed on in pieces, so that a program without line ends takes no memory; each fits into a log
 * event, whatever its characters.
 */
const MAX_LINE = 4 * 1024;

/** @param ended whether it is the end of a line; false for a piece of one that goes on */
type Take = (line: string, ended: boolean) => void;

/** Cuts a stream of bytes into lines of text. A progress bar that redraws its line counts as its last state. */
export class Lines {
  readonly #decoder = new StringDecoder('utf8');
  readonly #take: Take;
  #rest = '';

  constructor(take: Take) {
    this.#take = take;
  }

  write(chunk: Buffer): void {
    this.#rest += this.#decoder.write(chunk);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#emit(line);
    while (this.#rest.length > MAX_LINE) this.#rest = this.#piece(this.#rest);
  }

  /** Hands on the last line, which has no end. */
  end(): void {
    this.#rest += this.#decoder.end();
    if (this.#rest !== '') this.#emit(this.#rest, false);
    this.#rest = '';
  }

  #emit(line: string, ended = true): void {
    const shown = line.endsWith('\r') ? line.slice(0, -1) : line;
    let rest = shown.slice(shown.lastIndexOf('\r') + 1);
    while (rest.length > MAX_LINE) rest = this.#piece(rest);
    this.#take(rest, ended);
  }

  /** Hands on the beginning of a line and gives the rest. Never half a character. */
  #piece(text: string): string {
    const splits = /[\ud800-\udbff]/.test(text.charAt(MAX_LINE - 1));
    const size = splits ? MAX_LINE - 1 : MAX_LINE;
    this.#take(text.slice(0, size), false);
    return text.slice(size);
  }
}

/** A line `::progress 0.42 message` (docs/runners.md#what-it-writes), or null when it is another. */
export function parseProgress(line: string): { progress: number; message: string } | null {
  const match = /^::progress\s+(\d*\.?\d+(?:e-?\d+)?)(?:\s+(.*))?$/i.exec(line);
  if (!match) return null;
  const progress = Number(match[1]);
  return progress >= 0 && progress <= 1 ? { progress, message: (match[2] ?? '').slice(0, 2000) } : null;
}
