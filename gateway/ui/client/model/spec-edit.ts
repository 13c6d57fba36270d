import { signal } from '@preact/signals';
import { indented } from '../../../../machines/json/indented.ts';
import { yamlText } from '../../../../machines/json/yaml-text.ts';
import type { JobCheck } from '../../../../machines/schema/job-check.ts';
import type { ValidationIssue } from '../../../../machines/schema/validate.ts';
import type { JobView } from '../../../../machines/schema/views.ts';
import { asNow, withoutKey } from '../../../../machines/submission/resubmitted.ts';
import { ResponseError } from '../../../client/errors.ts';
import type { Api, Body } from '../api/http.ts';
import { wordsOf } from '../api/words-of.ts';

/** Characters of a specification that are edited and sent as YAML: servers take no longer ones. */
const MOST_YAML = 256 * 1024;

/** Milliseconds without a key stroke after which the server is asked. */
const TYPING_MS = 250;

/** What the server says of the text as it stands. */
export type Verdict =
  | { is: 'checking' }
  | { is: 'right'; check: JobCheck }
  | { is: 'wrong'; sentence: string; faults: readonly ValidationIssue[] };

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
    return this.#api.post<JobView>('v1/jobs', this.#body());
  }

  /** JSON is YAML, too, whose faults are told by their lines. */
  #body(): Body {
    return {
      text: this.#text,
      type: this.#text.length > MOST_YAML ? 'application/json' : 'application/yaml',
    };
  }

  async #check(): Promise<void> {
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const check = await this.#api.post<JobCheck>('v1/jobs/check', this.#body(), asking.signal);
      this.verdict.value = { is: 'right', check };
    } catch (error) {
      if (asking.signal.aborted) return;
      const faults = error instanceof ResponseError ? error.faults : [];
      this.verdict.value = { is: 'wrong', sentence: wordsOf(error), faults };
    }
  }
}

/** The specification of a job as one to submit anew, as YAML; numbers stay as they were written. */
export function textToEdit(request: string, job: JobView): string {
  const spec = asNow(withoutKey(request), job);
  return spec.length > MOST_YAML ? indented(spec) : yamlText(spec);
}
