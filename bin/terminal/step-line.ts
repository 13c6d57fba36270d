import { bytes } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';

/** Milliseconds between two lines of one step where nothing can move. */
const QUIET_MS = 5_000;
const FRAME_MS = 100;

/**
 * What a long work is at, on stderr: one line that is written over on a terminal; elsewhere a line for each step and
 * one every few seconds.
 */
export class StepLine {
  readonly #output: Output;
  #step = '';
  #printedAt = Number.NEGATIVE_INFINITY;

  constructor(output: Output) {
    this.#output = output;
  }

  show(step: string, done?: number, total?: number): void {
    const now = performance.now();
    const isNew = step !== this.#step;
    if (!isNew && now - this.#printedAt < (this.#output.animated ? FRAME_MS : QUIET_MS)) return;
    this.#step = step;
    this.#printedAt = now;
    const share = done === undefined || total === undefined ? '' : `, ${bytes(done)} of ${bytes(total)}`;
    const text = `${plain(step)}${share}`;
    if (this.#output.animated) this.#output.stderr.write(`\r\u001b[K${text}`);
    else this.#output.note(text);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#output.animated) this.#output.stderr.write('\r\u001b[K');
  }
}
