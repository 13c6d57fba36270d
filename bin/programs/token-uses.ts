import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Credentials } from '../../gateway/auth/credentials.ts';

/** Milliseconds between two looks at whether there is something to write. */
const EVERY = 60_000;

const fileIn = (state: string): string => join(state, 'token-uses.json');

/**
 * When each token was used last, in seconds since the epoch, by its id, as a server on that state directory has written
 * it. What cannot be read says nothing: it is a hint for people, and no right hangs on it.
 */
export function readUses(state: string): Map<string, number> {
  try {
    const uses = Object.entries(JSON.parse(readFileSync(fileIn(state), 'utf8')) as Record<string, unknown>);
    return new Map(uses.filter((use): use is [string, number] => Number.isFinite(use[1])));
  } catch {
    return new Map();
  }
}

/**
 * Keeps the last use of tokens in a file of the state directory, a minute late at most: beside the store and not in it,
 * since a use is no change that anybody waits for, and costs no request more than a number in memory.
 */
export class TokenUses {
  readonly #file: string;
  readonly #auth: Credentials;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #written = '';
  #writing: Promise<void> = Promise.resolve();

  constructor(state: string, auth: Credentials, log: Logger) {
    this.#file = fileIn(state);
    this.#auth = auth;
    this.#log = log;
    auth.recall(readUses(state));
    this.#timer = setInterval(() => this.#write(), EVERY);
    this.#timer.unref();
  }

  /** Writes what is not written yet. Idempotent. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#write();
    return this.#writing;
  }

  #write(): void {
    this.#writing = this.#writing.then(() => this.#writeNow());
  }

  async #writeNow(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(this.#auth.uses));
    if (text === this.#written || text === '{}') return;
    const beside = `${this.#file}.new`;
    try {
      await writeFile(beside, text, { mode: 0o600 });
      await rename(beside, this.#file);
      this.#written = text;
    } catch (error) {
      this.#log.debug({ err: error }, 'the last use of tokens could not be written');
      await rm(beside, { force: true }).catch(() => {});
    }
  }
}
