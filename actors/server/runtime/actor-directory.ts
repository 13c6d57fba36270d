import { isBulkRunning } from '../../../machines/job/steps.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { isHeld } from '../../../machines/task/task.ts';
import type { Span } from '../scheduling/withheld.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';
import { sql } from '../store/sql.ts';
import { each, sqlWords } from '../store/sql-words.ts';
import type { Store } from '../store/store.ts';
import { JOBS, TASKS, WORKERS } from '../store/tables.ts';
import type { Journal } from '../turn/journal.ts';
import { withBreaks } from '../turn/steps.ts';
import { type AnyCell, JobCell, TaskCell, WorkerCell } from './actor-cell.ts';

/** Rows that become objects at a time: some milliseconds. */
const PAGE = 1000;

/** What a turn, or a visit between two turns, needs in memory until it is over. */
export class References {
  readonly jobs = new Set<JobCell>();
  readonly tasks = new Set<TaskCell>();
  readonly workers = new Set<WorkerCell>();
  /** What came into motion with it. */
  readonly arrived = new Set<AnyCell>();

  job(cell: JobCell): JobCell {
    if (!this.jobs.has(cell)) cell.references++;
    this.jobs.add(cell);
    return cell;
  }

  task(cell: TaskCell): TaskCell {
    if (!this.tasks.has(cell)) cell.references++;
    this.tasks.add(cell);
    return cell;
  }

  worker(cell: WorkerCell): WorkerCell {
    if (!this.workers.has(cell)) cell.references++;
    this.workers.add(cell);
    return cell;
  }
}

/**
 * Whether a worker is a row and no more: it counts as dead, has nothing, need not hear of anything, and all that is
 * known of it is written.
 */
const isGone = ({ row, soft, revoked, missingPaths }: WorkerCell): boolean =>
  row.status === 'dead' &&
  row.slots_used === 0 &&
  soft.deadAt === null &&
  soft.lastSeenAt === row.last_seen_at &&
  revoked.size === 0 &&
  missingPaths.size === 0;

/**
 * The cells that are active: workers but for those that are dead and have nothing, the tasks that a worker holds with
 * their jobs, jobs whose tasks have a bulk command under way, and whatever a turn refers to. Everything else is a row
 * in the store until a message comes for it. What is in memory counts for more than its row, which does not know of the
 * turn yet; so whatever a turn wants is referred to before it waits for the store, since the end of the turn before may
 * let go of it meanwhile.
 */
export class ActorDirectory {
  readonly jobs = new Map<string, JobCell>();
  readonly tasks = new Map<string, TaskCell>();
  readonly workers = new Map<string, WorkerCell>();
  /** Those whose times have moved since they were written; the next commit writes them, and is never made for it. */
  readonly unwritten = new Set<TaskCell | WorkerCell>();
  readonly #tasksBySeq = new Map<number, TaskCell>();
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Brings the rows of these ids into memory, a task with its job and the worker that has or had it. Ids that do not
   * exist are passed over.
   */
  async fetch(
    references: References,
    ids: { jobs?: Iterable<string>; tasks?: Iterable<string>; workers?: Iterable<string> },
  ): Promise<void> {
    const missing: string[] = [];
    const jobs = new Set(ids.jobs);
    const workers = new Set(ids.workers);
    const bring = ({ row: { job_id, worker_id } }: TaskCell) => {
      jobs.add(job_id);
      if (worker_id !== null) workers.add(worker_id);
    };
    for (const id of new Set(ids.tasks)) {
      const task = this.tasks.get(id);
      if (task) bring(references.task(task));
      else missing.push(id);
    }
    for (const row of await this.#store.loadBy(TASKS, 'id', missing))
      bring(this.addTask(references, row, true));
    await this.fetchJobs(references, jobs);
    await this.#fetchWorkers(references, workers);
  }

  async #fetchWorkers(references: References, wanted: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    for (const id of wanted) {
      const worker = this.workers.get(id);
      if (worker) references.worker(worker);
      else missing.push(id);
    }
    for (const row of await this.#store.loadBy(WORKERS, 'id', missing)) this.addWorker(references, row, true);
  }

  /** Tasks by their place in the queue, without their jobs. */
  async fetchQueued(references: References, seqs: readonly number[]): Promise<Map<number, TaskCell>> {
    const found = new Map<number, TaskCell>();
    const missing: number[] = [];
    for (const seq of seqs) {
      const task = this.#tasksBySeq.get(seq);
      if (task) found.set(seq, references.task(task));
      else missing.push(seq);
    }
    for (const row of await this.#store.loadBy(TASKS, 'seq', missing)) {
      found.set(row.seq, this.addTask(references, row, true));
    }
    return found;
  }

  /** Those that are in memory now. */
  tasksOf(jobId: string): TaskCell[] {
    return [...this.tasks.values()].filter(({ row }) => row.job_id === jobId);
  }

  /**
   * The next tasks of a job that are in one of the states, by their numbers.
   * @param after number after which they are looked for
   * @param among where they are to be found, in order; null: anywhere
   */
  async nextOf(
    references: References,
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
  ): Promise<TaskCell[]> {
    if (among !== null) return this.#nextAmong(references, among, after, most);
    const found = new Map<number, TaskCell>();
    const look = (task: TaskCell) => {
      const { seq, status } = references.task(task).row;
      if (seq > after && statuses.includes(status)) found.set(seq, task);
    };
    this.tasksOf(jobId).forEach(look);
    const where = `job_id = ? AND status IN (${sqlWords(statuses)}) AND seq > ? ORDER BY seq LIMIT ${most}`;
    // What the turn has done to some of them so far is known in memory alone, so that a page may say too little.
    for (let read = after, full = true, known = 0; full && known < most; ) {
      const rows = await this.#store.load(TASKS, where, jobId, read);
      for (const row of rows) look(this.tasks.get(row.id) ?? this.addTask(references, row, true));
      read = rows.at(-1)?.seq ?? read;
      full = rows.length === most;
      known = [...found.keys()].filter((seq) => seq <= read).length;
    }
    const seqs = [...found.keys()].sort((a, b) => a - b).slice(0, most);
    return seqs.map((seq) => found.get(seq) as TaskCell);
  }

  /** The same of those with these numbers, whatever state they are in. */
  async #nextAmong(
    references: References,
    among: readonly number[],
    after: number,
    most: number,
  ): Promise<TaskCell[]> {
    const seqs = among.filter((seq) => seq > after).slice(0, most);
    const found = await this.fetchQueued(references, seqs);
    return seqs.flatMap((seq) => found.get(seq) ?? []);
  }

  /**
   * The numbers of some tasks of a job, in order; `other` is one of the ids that is none of its tasks in this status,
   * null where there is none such.
   */
  async numbersOf(
    jobId: string,
    status: string,
    ids: ReadonlySet<string>,
  ): Promise<{ seqs: number[]; other: string | null }> {
    const seqs: number[] = [];
    const elsewhere: string[] = [];
    for (const id of ids) {
      const row = this.tasks.get(id)?.row;
      if (!row) elsewhere.push(id);
      else if (row.job_id === jobId && row.status === status) seqs.push(row.seq);
      else return { seqs, other: id };
    }
    // One text: a hundred thousand rows of their own would keep others waiting.
    const found = await this.#store.reader.get<{ seqs: string | null; other: string | null }>(
      sql`SELECT string_agg(t.seq || '', ',') AS seqs, min(CASE WHEN t.seq IS NULL THEN w.value END) AS other
       FROM ${each('?', 'text', 'w')} LEFT JOIN tasks t ON t.id = w.value AND t.job_id = ? AND t.status = ?`,
      ...[JSON.stringify(elsewhere), jobId, status],
    );
    seqs.push(...(JSON.parse(`[${found?.seqs ?? ''}]`) as number[]));
    return { seqs: seqs.sort((a, b) => a - b), other: found?.other ?? null };
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

  async fetchJobs(references: References, wanted: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    for (const id of wanted) {
      const job = this.jobs.get(id);
      if (job) references.job(job);
      else missing.push(id);
    }
    for (const row of await this.#store.loadBy(JOBS, 'id', missing)) this.addJob(references, row, true);
  }

  addJob(references: References, row: JobRow, stored: boolean): JobCell {
    const cell = new JobCell(row, stored);
    this.jobs.set(row.id, cell);
    references.arrived.add(cell);
    return references.job(cell);
  }

  addTask(references: References, row: TaskRow, stored: boolean): TaskCell {
    const cell = new TaskCell(row, stored);
    this.tasks.set(row.id, cell);
    this.#tasksBySeq.set(row.seq, cell);
    references.arrived.add(cell);
    return references.task(cell);
  }

  addWorker(references: References, row: WorkerRow, stored: boolean): WorkerCell {
    const cell = new WorkerCell(row, stored);
    this.workers.set(row.id, cell);
    references.arrived.add(cell);
    return references.worker(cell);
  }

  job(id: string): JobCell {
    const found = this.jobs.get(id);
    if (!found) throw ClusterError.unknown('job', id);
    return found;
  }

  task(id: string): TaskCell {
    const found = this.tasks.get(id);
    if (!found) throw ClusterError.unknown('task', id);
    return found;
  }

  worker(id: string): WorkerCell {
    const found = this.workers.get(id);
    if (!found) throw ClusterError.unknown('worker', id);
    return found;
  }

  /** Whatever is active under this id. */
  find(id: string): AnyCell | undefined {
    return this.jobs.get(id) ?? this.tasks.get(id) ?? this.workers.get(id);
  }

  /** Everything active; between two turns that is what is committed. */
  *active(): Iterable<AnyCell> {
    yield* this.workers.values();
    yield* this.jobs.values();
    yield* this.tasks.values();
  }

  /** Lets go of what nobody needs any more and no worker holds. Workers that live stay: every match looks at them. */
  release(references: References): void {
    for (const _ of this.releasing(references));
  }

  /** The same in steps, since it does not matter when: what is in memory counts for more than its row in any case. */
  *releasing(references: References): Generator<void, void> {
    const tasks = [...references.tasks];
    references.tasks.clear();
    yield* withBreaks(tasks, (task) => this.#dereference(task), 10 * PAGE);
    for (const job of references.jobs) {
      const { counts } = job.row;
      if (--job.references === 0 && counts.leased + counts.running === 0 && !isBulkRunning(job.row))
        this.removeJob(job);
    }
    references.jobs.clear();
    for (const worker of references.workers)
      if (--worker.references === 0 && isGone(worker)) this.removeWorker(worker);
    references.workers.clear();
  }

  #dereference(task: TaskCell): void {
    if (--task.references === 0 && !isHeld(task.row)) this.removeTask(task);
  }

  removeTask(task: TaskCell): void {
    task.passivate();
    if (this.tasks.get(task.id) === task) this.tasks.delete(task.id);
    if (this.#tasksBySeq.get(task.row.seq) === task) this.#tasksBySeq.delete(task.row.seq);
    this.unwritten.delete(task);
  }

  removeWorker(worker: WorkerCell): void {
    worker.passivate();
    if (this.workers.get(worker.id) === worker) this.workers.delete(worker.id);
    this.unwritten.delete(worker);
  }

  /** From now on nobody finds it, also in the rest of the turn. */
  forgetWorker(journal: Journal, worker: WorkerCell): void {
    this.removeWorker(worker);
    journal.onRollback(() => this.workers.set(worker.id, worker));
  }

  removeJob(job: JobCell): void {
    job.passivate();
    if (this.jobs.get(job.id) === job) this.jobs.delete(job.id);
  }
}
