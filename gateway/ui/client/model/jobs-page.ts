import { computed, effect, signal } from '@preact/signals';
import type { JobView } from '../../../../machines/schema/views.ts';
import { RefusedError } from '../api/faults.ts';
import type { Api } from '../api/http.ts';
import type { Address } from './address.ts';
import { sortedJobs } from './job-sort.ts';
import { Refresher } from './refresher.ts';

/** Rows of one page. A page more is never loaded, however many jobs there are. */
export const PAGE_SIZE = 50;

const JOB_ID = /^job_[0-9a-z]{10,}$/;

/** The page of jobs that the address asks for. */
export class JobsPage {
  /** Null until the first answer. */
  readonly jobs = signal<readonly JobView[] | null>(null);
  readonly hasOlder = signal(false);
  readonly rows = computed(() => sortedJobs(this.jobs.value ?? [], this.#address.place.value.sort));
  readonly refresher: Refresher;
  readonly #api: Api;
  readonly #address: Address;
  #unwatch: () => void = () => {};

  constructor(api: Api, address: Address, onFault: (fault: unknown) => void) {
    this.#api = api;
    this.#address = address;
    this.refresher = new Refresher((signal) => this.#load(signal), {
      every: 15_000,
      atLeast: 500,
      onFault,
    });
  }

  start(): void {
    this.refresher.start();
    const question = computed(() => {
      const { status, name, before } = this.#address.place.value;
      return JSON.stringify([status, name, before]);
    });
    let asked = question.peek();
    this.#unwatch = effect(() => {
      if (question.value === asked) return;
      asked = question.value;
      void this.refresher.now();
    });
  }

  stop(): void {
    this.#unwatch();
    this.refresher.stop();
  }

  older(): void {
    const last = this.jobs.peek()?.at(-1);
    if (!last) return;
    const { before, trail } = this.#address.place.peek();
    this.#address.go({ before: String(last.created_at), trail: [...trail, before] });
  }

  newer(): void {
    const { trail } = this.#address.place.peek();
    this.#address.go({ before: trail.at(-1) ?? '', trail: trail.slice(0, -1) });
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { status, name, before } = this.#address.place.peek();
    const wanted = name.trim();
    if (JOB_ID.test(wanted)) return this.#show(await this.#one(wanted, status, signal));
    const query = { status, name: wanted, created_before: before, limit: PAGE_SIZE + 1 };
    this.#show(await this.#api.get<JobView[]>('v1/jobs', query, signal));
  }

  #show(jobs: readonly JobView[]): void {
    this.jobs.value = jobs.slice(0, PAGE_SIZE);
    this.hasOlder.value = jobs.length > PAGE_SIZE;
  }

  /** Who pastes an id means that job. */
  async #one(id: string, status: string, signal: AbortSignal): Promise<JobView[]> {
    try {
      const job = await this.#api.get<JobView>(`v1/jobs/${encodeURIComponent(id)}`, {}, signal);
      return status === '' || job.status === status ? [job] : [];
    } catch (fault) {
      if (fault instanceof RefusedError && fault.status === 404) return [];
      throw fault;
    }
  }
}
