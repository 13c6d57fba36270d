import { computed, effect, signal } from '@preact/signals';
import type { JobView } from '../../../../machines/schema/views.ts';
import type { Api, Query } from '../api/http.ts';
import type { Address } from './address.ts';
import { FILTERS, filterQuery } from './job-filters.ts';
import { sortedJobs } from './job-sort.ts';
import { Refresher } from './refresher.ts';

/** Rows of one page. A page more is never loaded, however many jobs there are. */
export const PAGE_SIZE = 50;

/** Running jobs that lead the list at most; there are seldom more than workers. */
const MOST_LEADING = 50;
const RUNNING = ['running', 'cancelling'] as const;

/**
 * The page of jobs that the address asks for, newest first. On the first page of all those that run lead, however
 * long ago they were submitted.
 */
export class JobsPage {
  /** Null until the first answer. */
  readonly jobs = signal<readonly JobView[] | null>(null);
  readonly hasOlder = signal(false);
  readonly rows = computed(() => sortedJobs(this.jobs.value ?? [], this.#address.place.value.sort));
  /** How many of the rows lead; none in an order that the reader chose. */
  readonly leading = computed(() => (this.#address.place.value.sort === '' ? this.#leaders.value.size : 0));
  readonly #leaders = signal<ReadonlySet<string>>(new Set());
  /** Of the newest ones, the last: the next page begins behind it. */
  #last: JobView | undefined;
  readonly refresher: Refresher;
  readonly #api: Api;
  readonly #address: Address;
  #unwatch: () => void = () => {};

  constructor(api: Api, address: Address, onFault: (error: unknown) => void) {
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
      const place = this.#address.place.value;
      return JSON.stringify([place.status, place.name, place.before, ...FILTERS.map((name) => place[name])]);
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
    if (!this.#last) return;
    const { before, trail } = this.#address.place.peek();
    this.#address.go({ before: String(this.#last.created_at), trail: [...trail, before] });
  }

  newer(): void {
    const { trail } = this.#address.place.peek();
    this.#address.go({ before: trail.at(-1) ?? '', trail: trail.slice(0, -1) });
  }

  async #load(signal: AbortSignal): Promise<void> {
    const place = this.#address.place.peek();
    const { status, name, before } = place;
    const wanted = name.trim();
    const filters = filterQuery(place);
    const ask = (query: Query) => this.#api.get<JobView[]>('v1/jobs', { ...filters, ...query }, signal);
    const first = before === '';
    const [newest, referred, ...running] = await Promise.all([
      ask({ name: wanted, status, created_before: before, limit: PAGE_SIZE + 1 }),
      // What is shown of an id finds its job too, and where it fits several, all of them.
      first && wanted !== '' ? ask({ ref: wanted, limit: PAGE_SIZE }) : [],
      ...(first && status === ''
        ? RUNNING.map((one) => ask({ name: wanted, status: one, limit: MOST_LEADING }))
        : []),
    ]);
    const meant = referred.filter((job) => status === '' || job.status === status);
    this.#show(meant, newest, running.flat());
  }

  #show(meant: readonly JobView[], newest: readonly JobView[], running: readonly JobView[]): void {
    const page = newest.slice(0, PAGE_SIZE);
    const { job: open } = this.#address.place.peek();
    const leads = new Set(running.map(({ id }) => id));
    // Nobody's open row is moved away because its job has ended.
    if (this.#leaders.peek().has(open)) leads.add(open);
    // Each job once; one that moved between two of the answers is shown as the last of them has it.
    const known = [...new Map([...running, ...meant, ...page].map((job) => [job.id, job])).values()];
    const leaders = known.filter(({ id }) => leads.has(id)).sort((a, b) => b.created_at - a.created_at);
    this.jobs.value = [...leaders, ...known.filter(({ id }) => !leads.has(id))];
    this.#leaders.value = new Set(leaders.map(({ id }) => id));
    this.#last = page.at(-1);
    this.hasOlder.value = newest.length > PAGE_SIZE;
  }
}
