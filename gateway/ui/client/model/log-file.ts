import { signal } from '@preact/signals';
import type { Api } from '../api/http.ts';
import { wordsOf } from '../api/words-of.ts';
import { plainLog } from '../text/log-text.ts';

/** Bytes of a log that are shown first, and at most. */
export const TAIL_BYTES = 64 * 1024;
export const MOST_BYTES = 4 * 1024 * 1024;

/** The end of a log that was uploaded when its task ended. */
export class LogFile {
  readonly id: string;
  readonly size: number;
  readonly text = signal<string | null>(null);
  /** Bytes at the beginning that are not shown. */
  readonly left = signal(0);
  readonly fault = signal<string | null>(null);
  readonly #api: Api;

  /** @param size bytes */
  constructor(api: Api, id: string, size: number) {
    this.#api = api;
    this.id = id;
    this.size = size;
  }

  /** Shows the last bytes. */
  async load(most = TAIL_BYTES): Promise<void> {
    const from = Math.max(0, this.size - most);
    try {
      const text = this.size === 0 ? '' : await this.#read(from);
      // The first line was cut somewhere.
      this.text.value = plainLog(from === 0 ? text : text.slice(text.indexOf('\n') + 1));
      this.left.value = from;
      this.fault.value = null;
    } catch (error) {
      this.fault.value = wordsOf(error);
    }
  }

  async #read(from: number): Promise<string> {
    const answer = await this.#api.open(`v1/artifacts/${encodeURIComponent(this.id)}`, {
      Range: `bytes=${from}-`,
    });
    return answer.text();
  }
}
