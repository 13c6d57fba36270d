import { signal } from '@preact/signals';
import type { Api } from '../api/http.ts';
import { wordsOf } from '../api/words-of.ts';

/** What was read of an artifact, once it has been. */
export class ArtifactText<Read> {
  readonly value = signal<Read | null>(null);
  readonly fault = signal<string | null>(null);
  readonly #api: Api;
  readonly #id: string;
  readonly #parse: (text: string) => Read;

  /** @param parse throws where it is not what it should be */
  constructor(api: Api, id: string, parse: (text: string) => Read) {
    this.#api = api;
    this.#id = id;
    this.#parse = parse;
  }

  async load(): Promise<void> {
    this.fault.value = null;
    try {
      const answer = await this.#api.open(`v1/artifacts/${encodeURIComponent(this.#id)}`);
      this.value.value = this.#parse(await answer.text());
    } catch (error) {
      this.fault.value = wordsOf(error);
    }
  }
}
