import type { Logger } from 'pino';
import { Distribution, Distributions } from '../../../gateway/metrics/distribution.ts';
import { Known, OTHER } from '../../../gateway/metrics/known.ts';
import type { Labels, Metrics } from '../../../gateway/metrics/metrics.ts';
import { Tally } from '../../../gateway/metrics/tally.ts';
import type { Changes } from '../store/changes.ts';
import { ReportedData } from '../turn/event-drafts.ts';

/** Seconds from which on a commit is worth a line of the log. */
const SLOW_COMMIT = 1;

/** Types of jobs that are told apart. */
const MOST_TYPES = 20;

/** Seconds. */
const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const WAITS = [0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];
const RUNS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];
const ROWS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000];

/** Event types of a task, to how it ended. */
const TASK_ENDS: Labels = { task_completed: 'succeeded', task_reused: 'reused', task_cancelled: 'cancelled' };
const JOB_ENDS: Labels = { job_succeeded: 'succeeded', job_failed: 'failed', job_cancelled: 'cancelled' };

const each = (values: readonly string[]): string[][] => values.map((value) => [value]);

/** What is counted and measured of what happens. All of it was committed before. */
export class Measures {
  readonly #log: Logger;
  readonly #types = new Known(MOST_TYPES);
  readonly #jobsSubmitted = new Tally(['type']);
  readonly #jobsEnded = new Tally(['type', 'end']);
  readonly #tasksEnded = new Tally(['end'], each([...Object.values(TASK_ENDS), 'failed']));
  readonly #failures = new Tally(
    ['fault', 'requeued'],
    ['task', 'input', 'worker'].flatMap((error) => [
      [error, 'true'],
      [error, 'false'],
    ]),
  );
  readonly #requeued = new Tally(
    ['reason'],
    each(['failure', 'lease_lapsed', 'undelivered', 'taken_back', 'preempted', 'retry']),
  );
  readonly #workers = new Tally(
    ['change'],
    each([
      ...['registered', 'dead', 'alive', 'suspended', 'resumed', 'draining', 'stopped'],
      ...['drain_ordered', 'drained', 'drain_lifted', 'removed'],
    ]),
  );
  #tasksSubmitted = 0;
  #leases = 0;
  #lost = 0;
  #artifacts = 0;
  #artifactBytes = 0;
  #failedCommits = 0;
  readonly #queued = new Distributions(WAITS);
  readonly #ran = new Distributions(RUNS);
  readonly #leased = new Distribution(LATENCIES);
  readonly #commits = new Distribution(LATENCIES);
  readonly #rows = new Distribution(ROWS);

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    const tallied = (name: string, help: string, tally: Tally) =>
      metrics.counter(name, help, tally.labels, (tell) => tally.tell(tell));
    const counted = (name: string, help: string, count: () => number) =>
      metrics.counter(name, help, [], (tell) => tell(count()));
    const byType = (name: string, help: string, distributions: Distributions) =>
      metrics.histogram(name, help, ['type'], (tell) => {
        for (const [type, distribution] of distributions) tell(distribution, { type });
      });
    const alone = (name: string, help: string, distribution: Distribution) =>
      metrics.histogram(name, help, [], (tell) => tell(distribution));
    tallied('jq_jobs_submitted_total', 'Jobs that were submitted', this.#jobsSubmitted);
    tallied('jq_jobs_ended_total', 'Jobs that ended, by how', this.#jobsEnded);
    counted(
      'jq_tasks_submitted_total',
      'Tasks that jobs have brought, refits included',
      () => this.#tasksSubmitted,
    );
    tallied(
      'jq_tasks_ended_total',
      'Tasks that ended, by how; reused: with the result of another task',
      this.#tasksEnded,
    );
    tallied(
      'jq_task_failures_total',
      'Attempts that failed, by whose fault it was and whether the task is tried again',
      this.#failures,
    );
    tallied('jq_tasks_requeued_total', 'Tasks that went back to the queue, by why', this.#requeued);
    counted('jq_leases_total', 'Leases that were granted', () => this.#leases);
    counted('jq_leases_lost_total', 'Leases that expired: their workers fell silent', () => this.#lost);
    alone(
      'jq_lease_latency_seconds',
      'From when both a task and a worker for it waited, until the lease was durable',
      this.#leased,
    );
    byType(
      'jq_task_queue_seconds',
      'From when a task was queued, or queued again, until it was leased',
      this.#queued,
    );
    byType(
      'jq_task_run_seconds',
      'From when a worker reported the start of an attempt until it reported how it ended',
      this.#ran,
    );
    tallied(
      'jq_worker_changes_total',
      'What happened to workers, such as registered and dead',
      this.#workers,
    );
    counted('jq_artifacts_recorded_total', 'Artifacts that were recorded', () => this.#artifacts);
    counted('jq_artifact_recorded_bytes_total', 'Bytes of these artifacts', () => this.#artifactBytes);
    alone(
      'jq_commit_duration_seconds',
      'From when a turn was ready to be written until it was durable',
      this.#commits,
    );
    alone('jq_commit_rows', 'Rows that a commit wrote, events included', this.#rows);
    counted(
      'jq_commit_failures_total',
      'Commits that failed; nothing of them happened',
      () => this.#failedCommits,
    );
  }

  /** A task was leased. @param seconds since it was queued */
  queued(type: string, seconds: number): void {
    this.#queued.observe(this.#types.of(type), Math.max(0, seconds));
  }

  /** An attempt that was started has ended. @param seconds since then */
  ran(type: string, seconds: number): void {
    this.#ran.observe(this.#types.of(type), Math.max(0, seconds));
  }

  /** A lease is durable. @param seconds since both the task and the worker waited */
  leased(seconds: number): void {
    this.#leased.observe(Math.max(0, seconds));
  }

  /** Has a turn written, and counts what it brought once it is durable. */
  async commit(changes: Changes, write: () => Promise<void>): Promise<void> {
    const began = performance.now();
    try {
      await write();
    } catch (error) {
      this.#failedCommits++;
      throw error;
    }
    const seconds = (performance.now() - began) / 1000;
    const rows = rowsOf(changes);
    this.#commits.observe(seconds);
    this.#rows.observe(rows);
    if (seconds >= SLOW_COMMIT) this.#log.warn({ seconds, rows }, 'a commit was slow; how is the disk?');
    this.#committed(changes);
  }

  #committed(changes: Changes): void {
    const { plain_new_jobs, new_jobs, plain_changed_jobs, changed_jobs } = changes;
    this.#tasksSubmitted += changes.plain_new_tasks.length + changes.new_tasks.length;
    for (const { type } of [...plain_new_jobs, ...new_jobs]) this.#jobsSubmitted.count(this.#types.of(type));
    for (const { size_bytes } of changes.artifacts) {
      this.#artifacts++;
      this.#artifactBytes += size_bytes;
    }
    let types: Map<string, string> | undefined;
    const typeOf = (jobId: string | null) => {
      types ??= new Map(
        [...plain_new_jobs, ...new_jobs, ...plain_changed_jobs, ...changed_jobs].map(({ id, type }) => [
          id,
          type,
        ]),
      );
      return this.#types.of(types.get(jobId ?? '') ?? OTHER);
    };
    for (const event of changes.events) this.#happened(event, typeOf);
  }

  #happened(
    { type, data, job_id }: Changes['events'][number],
    typeOf: (jobId: string | null) => string,
  ): void {
    // What a worker says may go by any name.
    if (data instanceof ReportedData) return;
    const of = data as Readonly<Record<string, unknown>>;
    const taskEnd = TASK_ENDS[type];
    const jobEnd = JOB_ENDS[type];
    if (type === 'task_leased') this.#leases++;
    else if (taskEnd !== undefined) this.#tasksEnded.count(taskEnd);
    else if (type === 'task_failed') {
      this.#failures.count(String(of.fault), String(of.requeued));
      if (of.requeued !== true) this.#tasksEnded.count('failed');
    } else if (type === 'task_requeued') this.#requeued.count(String(of.reason));
    else if (type === 'task_lost') this.#lost++;
    else if (type.startsWith('worker_')) this.#workers.count(type.slice('worker_'.length));
    else if (jobEnd !== undefined) this.#jobsEnded.count(typeOf(job_id), jobEnd);
  }
}

/** Those that every commit writes are not counted. */
const rowsOf = ({ minutes: _, tally: __, ...lists }: Changes): number =>
  Object.values(lists).reduce((sum, rows) => sum + rows.length, 0);
