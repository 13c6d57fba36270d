import { type History, must, UNTOUCHED } from './history.ts';

/** What the store says of a job; leased tasks count as queued. */
export interface JobRow {
  id: string;
  status: string;
  counts: Record<'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled', number>;
  tasks: TaskRow[];
}

export interface TaskRow {
  id: string;
  status: string;
  attempt: number;
  worker: string | null;
  /** Unix seconds. */
  leaseEnds: number | null;
  /** JSON. */
  result: string | null;
  reusedFrom: string | null;
}

/** Seconds by which a lease may end later than its row says: the times of turns are whole milliseconds. */
const ROUNDED = 0.001;

/** The rows of a store, held against its events; results against what they were when they were first seen. */
export class Rows {
  readonly #history: History;
  readonly #results = new Map<string, string>();

  constructor(history: History) {
    this.#history = history;
  }

  /**
   * @param now second of the wall clock by which a lease that is over has been taken; null: some may still be there
   * @throws Error when the row is not what the events say
   */
  compareJob(row: JobRow, now: number | null): void {
    const { id, status, counts, tasks } = row;
    const job = this.#history.jobs.get(id);
    if (!job) throw new Error(`no event tells of job ${id}`);
    must(status === job.status, `job ${id} is ${status} in the store, ${job.status} by its events`);
    must(tasks.length === job.tasks, `job ${id} has ${tasks.length} tasks of ${job.tasks}`);
    for (const task of tasks) this.#compareTask(task, now);
    const counted = (...among: string[]) => tasks.filter((task) => among.includes(task.status)).length;
    const fits =
      counts.queued === counted('queued', 'leased') &&
      counts.running === counted('running') &&
      counts.succeeded === counted('succeeded') &&
      counts.failed === counted('failed') &&
      counts.cancelled === counted('cancelled');
    must(fits, `the counts of job ${id} do not fit its tasks: ${JSON.stringify(counts)}`);
  }

  #compareTask(row: TaskRow, now: number | null): void {
    const { id } = row;
    const { status, attempt, worker, reusedFrom } = this.#history.tasks.get(id) ?? UNTOUCHED;
    must(row.status === status, `${id} is ${row.status} in the store, ${status} by its events`);
    must(row.attempt === attempt, `${id} is at attempt ${row.attempt}, by its events ${attempt}`);
    if (['leased', 'running'].includes(status)) {
      must(row.worker === worker, `${id} is held by ${row.worker}, not ${worker}`);
      const ends = row.leaseEnds === null ? 0 : row.leaseEnds + ROUNDED;
      must(now === null || ends > now, `${id} is ${status} without a live lease`);
    }
    must(
      (row.result !== null) === (status === 'succeeded'),
      `${id} is ${status}: its result is ${row.result}`,
    );
    if (row.result === null) return;
    must((this.#results.get(id) ?? row.result) === row.result, `the result of ${id} has changed`);
    this.#results.set(id, row.result);
    must(row.reusedFrom === reusedFrom, `${id} does not say whose result it has`);
    if (reusedFrom === null) return;
    const theirs = this.#results.get(reusedFrom) ?? row.result;
    must(theirs === row.result, `the result of ${id} is not that of ${reusedFrom}`);
  }

  resultOf(task: string): string | undefined {
    return this.#results.get(task);
  }
}

/** @throws Error when counts by status are not what the events say */
export function compareCounts(
  what: string,
  actual: Readonly<Record<string, number>>,
  expected: ReadonlyMap<string, number>,
): void {
  for (const key of new Set([...Object.keys(actual), ...expected.keys()])) {
    const [is, should] = [actual[key] ?? 0, expected.get(key) ?? 0];
    must(is === should, `${what}: ${key} is ${is}, by the events ${should}`);
  }
}
