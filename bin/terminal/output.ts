import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { BaseContext } from 'clipanion';
import pc from 'picocolors';

type Terminal = Writable & { isTTY?: boolean; columns?: number };
export type Colours = ReturnType<typeof pc.createColors>;

const isTerminal = (stream: Writable, env: BaseContext['env']) =>
  (stream as Terminal).isTTY === true && env.TERM !== 'dumb';

/** Colour only on a terminal, and not where NO_COLOR (no-color.org) is set. */
export function isColourful(stream: Writable, env: BaseContext['env']): boolean {
  return isTerminal(stream, env) && !env.NO_COLOR;
}

/**
 * Where a command writes: its result to stdout, everything it has to say beside it to stderr. Under `--json`
 * nothing but JSON reaches stdout.
 */
export class Output {
  readonly json: boolean;
  /** Colours of stdout. */
  readonly colours: Colours;
  /** Colours of stderr. */
  readonly noteColours: Colours;
  /** Columns of stdout, or undefined when it is no terminal and nothing has to be cut. */
  readonly width: number | undefined;
  /** Whether a progress bar may move on stderr. */
  readonly animated: boolean;
  readonly stderr: Writable;
  readonly #stdout: Writable;
  readonly #context: BaseContext;

  constructor(context: BaseContext, json: boolean) {
    this.#context = context;
    const { stdout, stderr, env } = context;
    this.json = json;
    this.colours = pc.createColors(isColourful(stdout, env));
    this.noteColours = pc.createColors(isColourful(stderr, env));
    this.width = (stdout as Terminal).isTTY ? ((stdout as Terminal).columns ?? 80) : undefined;
    this.animated = !json && isTerminal(stderr, env);
    this.stderr = stderr;
    this.#stdout = stdout;
  }

  /** The same where stdout is kept for something else: what it prints goes to stderr. */
  beside(): Output {
    return new Output({ ...this.#context, stdout: this.stderr }, this.json);
  }

  /** Writes a line, or several, to stdout; resolves once the reader keeps up. */
  print(text: string): Promise<void> {
    return this.write(text.endsWith('\n') ? text : `${text}\n`);
  }

  /** The same for a part of a line. */
  async write(text: string): Promise<void> {
    if (this.#stdout.write(this.json ? fitJson(text) : text)) return;
    // The reader has gone; no drain event will come.
    if (this.#stdout.errored || this.#stdout.destroyed) return;
    await once(this.#stdout, 'drain');
  }

  /** Says something beside the result. */
  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  warn(text: string): void {
    this.note(`${this.noteColours.yellow('warning:')} ${text}`);
  }
}

/** Control characters beyond ASCII, and those that reorder or hide text: JSON lets them stand as they are. */
const UNSAFE = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** The same JSON without characters that could drive a terminal; outside of strings, JSON has none of them. */
const fitJson = (text: string): string =>
  text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
