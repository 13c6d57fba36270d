import { ClusterError } from '../../machines/errors.ts';
import { isHeld } from '../../machines/task.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { JOBS, TASKS, WORKERS } from '../store/tables.ts';
import { type AnyAddress, JobAddress, TaskAddress, WorkerAddress } from './address.ts';
import type { TaskFacts, WorkerFacts } from './facts.ts';
import { withBreaks } from './steps.ts';
import { isTelling } from './wishes.ts';
import type { Span } from './withheld.ts';

/** Rows that become objects at a time: some milliseconds. */
const PAGE = 1000;

/** What a turn, or a visit between two turns, needs in memory until it is over. */
export class Pins {
  readonly jobs = new Set<JobAddress>();
  readonly tasks = new Set<TaskAddress>();
  readonly workers = new Set<WorkerAddress>();
  /** What came into motion with it. */
  readonly arrived = new Set<AnyAddress>();

  job(address: JobAddress): JobAddress {
    if (!this.jobs.has(address)) address.pins++;
    this.jobs.add(address);
    return address;
  }

  task(address: TaskAddress): TaskAddress {
    if (!this.tasks.has(address)) address.pins++;
    this.tasks.add(address);
    return address;
  }

  worker(address: WorkerAddress): WorkerAddress {
    if (!this.workers.has(address)) address.pins++;
    this.workers.add(address);
    return address;
  }
}

/**
 * Whether a worker is a row and no more: it counts as dead, has nothing, need not hear of anything, and all that is known
 * of it is written.
 */
const isGone = ({ row, facts, revoked, missing }: WorkerAddress): boolean =>
  row.status === 'dead' &&
  row.slots_used === 0 &&
  facts.silentAt === null &&
  facts.lastSeenAt === row.last_seen_at &&
  revoked.size === 0 &&
  missing.size === 0;

/**
 * The addresses that are in motion: workers but for those that are dead and have nothing, the tasks that a worker holds
 * with their jobs, jobs whose tasks are just being told something, and whatever a turn has pinned. Everything else is a
 * row in the store until a message comes for it. While the store writes one turn, the next one may read rows that are
 * about to change: what is in memory always counts for more, so whatever a turn wants is pinned before it waits for the
 * store.
 */
export class Registry {
  readonly jobs = new Map<string, JobAddress>();
  readonly tasks = new Map<string, TaskAddress>();
  readonly workers = new Map<string, WorkerAddress>();
  readonly #tasksBySeq = new Map<number, TaskAddress>();
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Brings the rows of these ids into memory, a task with its job and the worker that has or had it. Ids that do not
   * exist are passed over.
   */
  async fetch(
    pins: Pins,
    ids: { jobs?: Iterable<string>; tasks?: Iterable<string>; workers?: Iterable<string> },
  ): Promise<void> {
    const missing: string[] = [];
    const jobs = new Set(ids.jobs);
    const workers = new Set(ids.workers);
    const bring = ({ row: { job_id, worker_id } }: TaskAddress) => {
      jobs.add(job_id);
      if (worker_id !== null) workers.add(worker_id);
    };
    for (const id of new Set(ids.tasks)) {
      const task = this.tasks.get(id);
      if (task) bring(pins.task(task));
      else missing.push(id);
    }
    for (const row of await this.#store.loadBy(TASKS, 'id', missing)) bring(this.addTask(pins, row, true));
    await this.fetchJobs(pins, jobs);
    await this.#fetchWorkers(pins, workers);
  }

  async #fetchWorkers(pins: Pins, wanted: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    for (const id of wanted) {
      const worker = this.workers.get(id);
      if (worker) pins.worker(worker);
      else missing.push(id);
    }
    for (const row of await this.#store.loadBy(WORKERS, 'id', missing)) this.addWorker(pins, row, true);
  }

  /** Tasks by their place in the queue, without their jobs. */
  async fetchQueued(pins: Pins, seqs: readonly number[]): Promise<Map<number, TaskAddress>> {
    const found = new Map<number, TaskAddress>();
    const missing: number[] = [];
    for (const seq of seqs) {
      const task = this.#tasksBySeq.get(seq);
      if (task) found.set(seq, pins.task(task));
      else missing.push(seq);
    }
    for (const row of await this.#store.loadBy(TASKS, 'seq', missing)) {
      found.set(row.seq, this.addTask(pins, row, true));
    }
    return found;
  }

  /** Those that are in memory now. */
  tasksOf(jobId: string): TaskAddress[] {
    return [...this.tasks.values()].filter(({ row }) => row.job_id === jobId);
  }

  /**
   * The next tasks of a job that are in one of the states, by their numbers.
   * @param after number after which they are looked for
   * @param among where they are to be found, in order; null: anywhere
   */
  async nextOf(
    pins: Pins,
    jobId: string,
    {
      statuses,
      after,
      most,
      among,
    }: {
      statuses: readonly string[];
      after: number;
      most: number;
      among: readonly number[] | null;
    },
  ): Promise<TaskAddress[]> {
    if (among !== null) return this.#nextAmong(pins, among, after, most);
    const found = new Map<number, TaskAddress>();
    const look = (task: TaskAddress) => {
      const { seq, status } = pins.task(task).row;
      if (seq > after && statuses.includes(status)) found.set(seq, task);
    };
    this.tasksOf(jobId).forEach(look);
    const list = statuses.map((status) => `'${status}'`).join(', ');
    const where = `job_id = ? AND status IN (${list}) AND seq > ? ORDER BY seq LIMIT ${most}`;
    // What a turn that is being written did to some of them is known in memory alone, so that a page may say too little.
    for (let read = after, full = true, known = 0; full && known < most; ) {
      const rows = await this.#store.load(TASKS, where, jobId, read);
      for (const row of rows) look(this.tasks.get(row.id) ?? this.addTask(pins, row, true));
      read = rows.at(-1)?.seq ?? read;
      full = rows.length === most;
      known = [...found.keys()].filter((seq) => seq <= read).length;
    }
    const seqs = [...found.keys()].sort((a, b) => a - b).slice(0, most);
    return seqs.map((seq) => found.get(seq) as TaskAddress);
  }

  /** The same of those with these numbers, whatever state they are in. */
  async #nextAmong(
    pins: Pins,
    among: readonly number[],
    after: number,
    most: number,
  ): Promise<TaskAddress[]> {
    const seqs = among.filter((seq) => seq > after).slice(0, most);
    const found = await this.fetchQueued(pins, seqs);
    return seqs.flatMap((seq) => found.get(seq) ?? []);
  }

  /**
   * The numbers of some tasks of a job, in order; `others` is one of the ids that is none of its tasks in this status,
   * null where there is none such.
   */
  async numbersOf(
    jobId: string,
    status: string,
    ids: ReadonlySet<string>,
  ): Promise<{ seqs: number[]; others: string | null }> {
    const seqs: number[] = [];
    const elsewhere: string[] = [];
    for (const id of ids) {
      const row = this.tasks.get(id)?.row;
      if (!row) elsewhere.push(id);
      else if (row.job_id === jobId && row.status === status) seqs.push(row.seq);
      else return { seqs, others: id };
    }
    // One text: a hundred thousand rows of their own would keep others waiting.
    const found = await this.#store.reader.get<{ seqs: string | null; others: string | null }>(
      `SELECT group_concat(t.seq) AS seqs, min(CASE WHEN t.seq IS NULL THEN w.value END) AS others
       FROM json_each(?) w LEFT JOIN tasks t ON t.id = w.value AND t.job_id = ? AND t.status = ?`,
      ...[JSON.stringify(elsewhere), jobId, status],
    );
    seqs.push(...(JSON.parse(`[${found?.seqs ?? ''}]`) as number[]));
    return { seqs: seqs.sort((a, b) => a - b), others: found?.others ?? null };
  }

  /** From the first to the last number of a job's tasks; they were given together. */
  async spanOf(jobId: string): Promise<Span> {
    const stored = await this.#store.reader.get<{ first: number | null; last: number | null }>(
      'SELECT MIN(seq) AS first, MAX(seq) AS last FROM tasks WHERE job_id = ?',
      jobId,
    );
    const span = { from: stored?.first ?? Number.POSITIVE_INFINITY, to: stored?.last ?? 0 };
    for (const { row } of this.tasksOf(jobId)) {
      span.from = Math.min(span.from, row.seq);
      span.to = Math.max(span.to, row.seq);
    }
    return span;
  }

  async fetchJobs(pins: Pins, wanted: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    for (const id of wanted) {
      const job = this.jobs.get(id);
      if (job) pins.job(job);
      else missing.push(id);
    }
    for (const row of await this.#store.loadBy(JOBS, 'id', missing)) this.addJob(pins, row, true);
  }

  addJob(pins: Pins, row: JobRow, stored: boolean): JobAddress {
    const address = new JobAddress(row, stored);
    this.jobs.set(row.id, address);
    pins.arrived.add(address);
    return pins.job(address);
  }

  addTask(pins: Pins, row: TaskRow, stored: boolean, facts?: TaskFacts): TaskAddress {
    const address = new TaskAddress(row, stored, facts);
    this.tasks.set(row.id, address);
    this.#tasksBySeq.set(row.seq, address);
    pins.arrived.add(address);
    return pins.task(address);
  }

  addWorker(pins: Pins, row: WorkerRow, stored: boolean, facts?: WorkerFacts): WorkerAddress {
    const address = new WorkerAddress(row, stored, facts);
    this.workers.set(row.id, address);
    pins.arrived.add(address);
    return pins.worker(address);
  }

  job(id: string): JobAddress {
    const found = this.jobs.get(id);
    if (!found) throw ClusterError.unknown('job', id);
    return found;
  }

  task(id: string): TaskAddress {
    const found = this.tasks.get(id);
    if (!found) throw ClusterError.unknown('task', id);
    return found;
  }

  worker(id: string): WorkerAddress {
    const found = this.workers.get(id);
    if (!found) throw ClusterError.unknown('worker', id);
    return found;
  }

  /** Whatever is in motion under this id. */
  find(id: string): AnyAddress | undefined {
    return this.jobs.get(id) ?? this.tasks.get(id) ?? this.workers.get(id);
  }

  /** Everything in motion; between two turns that is what is committed. */
  *inMotion(): Iterable<AnyAddress> {
    yield* this.workers.values();
    yield* this.jobs.values();
    yield* this.tasks.values();
  }

  /** Lets go of what nobody needs any more and no worker holds. Workers that live stay: every match looks at them. */
  letGo(pins: Pins): void {
    for (const _ of this.lettingGo(pins));
  }

  /** The same in steps, since it does not matter when: what is in memory counts for more than its row in any case. */
  *lettingGo(pins: Pins): Generator<void, void> {
    const tasks = [...pins.tasks];
    pins.tasks.clear();
    yield* withBreaks(tasks, (task) => this.#unpin(task), 10 * PAGE);
    for (const job of pins.jobs) {
      const { counts } = job.row;
      if (--job.pins === 0 && counts.leased + counts.running === 0 && !isTelling(job.row))
        this.removeJob(job);
    }
    pins.jobs.clear();
    for (const worker of pins.workers) if (--worker.pins === 0 && isGone(worker)) this.removeWorker(worker);
    pins.workers.clear();
  }

  #unpin(task: TaskAddress): void {
    if (--task.pins === 0 && !isHeld(task.row)) this.removeTask(task);
  }

  removeTask(task: TaskAddress): void {
    task.letGo();
    if (this.tasks.get(task.id) === task) this.tasks.delete(task.id);
    if (this.#tasksBySeq.get(task.row.seq) === task) this.#tasksBySeq.delete(task.row.seq);
  }

  removeWorker(worker: WorkerAddress): void {
    worker.letGo();
    if (this.workers.get(worker.id) === worker) this.workers.delete(worker.id);
  }

  removeJob(job: JobAddress): void {
    job.letGo();
    if (this.jobs.get(job.id) === job) this.jobs.delete(job.id);
  }
}
