import { signal } from '@preact/signals';
import { indented } from '../../../../machines/json/indented.ts';
import { compose, members, RawJson } from '../../../../machines/json/raw.ts';
import type { JobCheck } from '../../../../machines/schema/job-check.ts';
import type { JobView } from '../../../../machines/schema/views.ts';
import { ResponseError } from '../../../client/errors.ts';
import type { Api } from '../api/http.ts';
import { wordsOf } from '../api/words-of.ts';

/** Characters of a line in which a step of a pipeline stays whole. */
const WIDTH = 90;

/** Milliseconds without a key stroke after which the server is asked. */
const TYPING_MS = 250;

/** What the server says of the text as it stands. */
export type Verdict =
  | { is: 'checking' }
  | { is: 'right'; check: JobCheck }
  | { is: 'wrong'; sentence: string; faults: readonly { path: string; message: string }[] };

/** The specification of a job, being changed, and what the server says of it while that goes on. */
export class SpecEdit {
  readonly verdict = signal<Verdict>({ is: 'checking' });
  readonly #api: Api;
  #text: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | null = null;

  constructor(api: Api, text: string) {
    this.#api = api;
    this.#text = text;
  }

  start(): void {
    void this.#check();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
  }

  change(text: string): void {
    this.#text = text;
    this.verdict.value = { is: 'checking' };
    this.#asking?.abort();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), TYPING_MS);
  }

  submit(): Promise<JobView> {
    return this.#api.post<JobView>('v1/jobs', this.#text);
  }

  async #check(): Promise<void> {
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const check = await this.#api.post<JobCheck>('v1/jobs/check', this.#text, asking.signal);
      this.verdict.value = { is: 'right', check };
    } catch (error) {
      if (asking.signal.aborted) return;
      const faults = error instanceof ResponseError ? error.faults : [];
      this.verdict.value = { is: 'wrong', sentence: wordsOf(error), faults };
    }
  }
}

/** A stored specification as one to submit anew, which says where it is from; numbers stay as they were written. */
export function textToEdit(request: string, jobId: string): string {
  const { idempotency_key: _, ...kept } = Object.fromEntries(
    [...members(request)].map(([key, text]) => [key, new RawJson(text)] as const),
  );
  return indented(compose({ ...kept, resubmitted_from: jobId }), WIDTH);
}
