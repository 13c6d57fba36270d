import { Metrics } from '../../../gateway/metrics/metrics.ts';
import { Tally } from '../../../gateway/metrics/tally.ts';
import type { Outcome, ReportOutcome } from '../../../machines/attempt/attempt.ts';
import { PREEMPTED } from '../../../machines/schema/report.ts';

/** What the metrics tell of a worker at the moment. */
export interface WorkerState {
  readonly slots: number;
  /** Attempts that take a slot, and those whose outcome is only being delivered. */
  readonly running: number;
  readonly delivering: number;
  readonly suspended: boolean;
  readonly connected: boolean;
  /** Files on their way to the server. */
  readonly uploads: number;
  /** Hosts by the library of their runner. */
  readonly warmHosts: ReadonlyMap<string, number>;
  readonly cache: {
    readonly entries: number;
    readonly bytes: number;
    readonly hits: number;
    readonly misses: number;
  };
}

/** What a worker program tells Prometheus. */
export class WorkerMetrics {
  readonly metrics = new Metrics();
  readonly #ended = new Tally(
    ['end', 'fault'],
    [
      ['succeeded', ''],
      ['failed', 'task'],
      ['failed', 'input'],
      ['failed', 'worker'],
      ['preempted', ''],
      ['not_ours', ''],
    ],
  );
  readonly #uploads = new Tally(['end'], [['stored'], ['left_out']]);

  constructor() {
    this.metrics.counter(
      'jq_worker_attempts_total',
      'Attempts whose end the server has taken, by how and whose fault it was; preempted: the worker had to end, and gave them back; not_ours: the server had given them up',
      this.#ended.labels,
      (tell) => this.#ended.tell(tell),
    );
    this.metrics.counter(
      'jq_worker_uploads_total',
      'Files that were uploaded, or left out since they could not be; small ones travel with reports',
      this.#uploads.labels,
      (tell) => this.#uploads.tell(tell),
    );
  }

  ended(outcome: Outcome, verdict: ReportOutcome): void {
    if (verdict === 'not_ours') this.#ended.count('not_ours', '');
    else if (outcome.verb === 'complete') this.#ended.count('succeeded', '');
    else if (outcome.failure.reason === PREEMPTED) this.#ended.count('preempted', '');
    else this.#ended.count('failed', outcome.failure.fault ?? 'task');
  }

  uploaded(end: 'stored' | 'left_out'): void {
    this.#uploads.count(end);
  }

  /** @param now asked at each scrape */
  watch(now: () => WorkerState): void {
    const gauge = (name: string, help: string, look: (state: WorkerState) => number) =>
      this.metrics.gauge(name, help, [], (tell) => tell(look(now())));
    const counter = (name: string, help: string, look: (state: WorkerState) => number) =>
      this.metrics.counter(name, help, [], (tell) => tell(look(now())));
    gauge('jq_worker_slots', 'Tasks that it runs at the same time', ({ slots }) => slots);
    gauge('jq_worker_attempts_running', 'Attempts that take a slot', ({ running }) => running);
    gauge(
      'jq_worker_attempts_delivering',
      'Attempts of which nothing runs any more: their outcome is on its way',
      ({ delivering }) => delivering,
    );
    gauge('jq_worker_suspended', 'Whether it takes no tasks, since it is not well', ({ suspended }) =>
      Number(suspended),
    );
    gauge('jq_worker_connected', 'Whether the server answers it', ({ connected }) => Number(connected));
    gauge('jq_worker_uploads_in_flight', 'Uploads under way or next in line', ({ uploads }) => uploads);
    this.metrics.gauge('jq_worker_warm_hosts', 'Processes that keep a runner warm', ['library'], (tell) => {
      for (const [library, count] of now().warmHosts) tell(count, { library });
    });
    gauge('jq_worker_cache_entries', 'Inputs in the cache', ({ cache }) => cache.entries);
    gauge('jq_worker_cache_bytes', 'What they take of the disk', ({ cache }) => cache.bytes);
    counter(
      'jq_worker_cache_hits_total',
      'Inputs that were there when a task needed them',
      ({ cache }) => cache.hits,
    );
    counter('jq_worker_cache_misses_total', 'Inputs that had to be fetched', ({ cache }) => cache.misses);
  }
}
