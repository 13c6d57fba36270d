import type { Readable, Writable } from 'node:stream';

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';

type Keyboard = Readable & { isTTY?: boolean; setRawMode?(raw: boolean): void };
type Display = Writable & { rows?: number; columns?: number };

/**
 * The whole terminal for a view that is drawn again and again: an own screen, no cursor, keys without Enter.
 * `close` gives everything back as it was.
 */
export class Screen {
  readonly #display: Display;
  readonly #keyboard: Keyboard | undefined;
  readonly #onKey: (key: Buffer | string) => void;
  readonly #onResize: () => void;
  #open = true;

  constructor(display: Writable, keyboard: Readable, on: { key(key: string): void; resize(): void }) {
    this.#display = display;
    this.#keyboard = (keyboard as Keyboard).isTTY ? keyboard : undefined;
    this.#onKey = (bytes) => {
      for (const key of String(bytes)) on.key(key);
    };
    this.#onResize = on.resize;
    this.#display.write(ENTER);
    this.#display.on('resize', this.#onResize);
    this.#keyboard?.setRawMode?.(true);
    this.#keyboard?.on('data', this.#onKey);
    this.#keyboard?.resume();
  }

  get height(): number {
    return this.#display.rows ?? 24;
  }

  /** Draws over what was there, without clearing it first, which would flicker. What does not fit is left out. */
  draw(lines: readonly string[]): void {
    if (!this.#open) return;
    // Erased before it is written: behind a full line, erasing would take its last character.
    const shown = lines.slice(0, this.height).map((line) => REST_OF_LINE + line);
    this.#display.write(`${HOME}${shown.join('\r\n')}${REST_OF_SCREEN}`);
  }

  /** Idempotent. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#display.off('resize', this.#onResize);
    this.#keyboard?.off('data', this.#onKey);
    this.#keyboard?.setRawMode?.(false);
    this.#keyboard?.pause();
    this.#display.write(LEAVE);
  }
}
