import { StringDecoder } from 'node:string_decoder';

/** Longer lines are handed on in pieces, so that a program without line ends takes no memory. */
const MAX_LINE = 16 * 1024;

/** Cuts a stream of bytes into lines of text. A progress bar that redraws its line counts as its last state. */
export class Lines {
  readonly #decoder = new StringDecoder('utf8');
  readonly #take: (line: string) => void;
  #rest = '';

  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  write(chunk: Buffer): void {
    this.#rest += this.#decoder.write(chunk);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#emit(line);
    if (this.#rest.length > MAX_LINE) this.#flush();
  }

  /** Hands on the last line, which has no end. */
  end(): void {
    this.#rest += this.#decoder.end();
    this.#flush();
  }

  #flush(): void {
    if (this.#rest !== '') this.#emit(this.#rest);
    this.#rest = '';
  }

  #emit(line: string): void {
    const shown = line.endsWith('\r') ? line.slice(0, -1) : line;
    this.#take(shown.slice(shown.lastIndexOf('\r') + 1));
  }
}

/** A line `::progress 0.42 message` (contract, "The runner protocol"), or null when it is another. */
export function parseProgress(line: string): { progress: number; message: string } | null {
  const match = /^::progress\s+(\d*\.?\d+(?:e-?\d+)?)(?:\s+(.*))?$/i.exec(line);
  if (!match) return null;
  const progress = Number(match[1]);
  return progress >= 0 && progress <= 1 ? { progress, message: (match[2] ?? '').slice(0, 2000) } : null;
}
