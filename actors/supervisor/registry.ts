import { ClusterError } from '../../machines/errors.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { JOBS, TASKS } from '../store/tables.ts';
import { Address, JOB, type JobAddress, TASK, type TaskAddress, WORKER, WorkerAddress } from './address.ts';

export const isHeld = (row: TaskRow): boolean => row.status === 'leased' || row.status === 'running';

/**
 * The addresses that are in motion: all workers, the tasks that a worker holds with their jobs, and whatever
 * the present turn touches. Everything else is a row in the store until a message comes for it.
 */
export class Registry {
  readonly jobs = new Map<string, JobAddress>();
  readonly tasks = new Map<string, TaskAddress>();
  readonly workers = new Map<string, WorkerAddress>();
  /** Committed holdings: worker id to the ids of tasks leased to it or running on it. */
  readonly held = new Map<string, Set<string>>();
  readonly #arrivedJobs = new Set<JobAddress>();
  readonly #arrivedTasks = new Set<TaskAddress>();
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Brings the rows of these ids into memory, a task with its job. Ids that do not exist are passed over. */
  async fetch(ids: { jobs: Iterable<string>; tasks: Iterable<string> }): Promise<void> {
    const tasks = [...new Set(ids.tasks)].filter((id) => !this.tasks.has(id));
    for (const row of await this.#store.loadBy(TASKS, 'id', tasks)) this.addTask(row, true);
    const jobs = new Set(ids.jobs);
    for (const id of ids.tasks) {
      const task = this.tasks.get(id);
      if (task) jobs.add(task.row.job_id);
    }
    await this.#fetchJobs(jobs);
  }

  /** Tasks by their place in the queue, with their jobs. */
  async fetchQueued(seqs: number[]): Promise<Map<number, TaskAddress>> {
    const found = new Map<number, TaskAddress>();
    const rows = await this.#store.loadBy(TASKS, 'seq', seqs);
    for (const row of rows) found.set(row.seq, this.tasks.get(row.id) ?? this.addTask(row, true));
    await this.#fetchJobs(new Set(rows.map((row) => row.job_id)));
    return found;
  }

  /** The tasks of a job in the given states. */
  async fetchTasksOf(jobId: string, statuses: readonly string[]): Promise<void> {
    const list = statuses.map((status) => `'${status}'`).join(', ');
    const rows = await this.#store.load(TASKS, `job_id = ? AND status IN (${list}) ORDER BY seq`, jobId);
    for (const row of rows) if (!this.tasks.has(row.id)) this.addTask(row, true);
  }

  async #fetchJobs(wanted: Set<string>): Promise<void> {
    const missing = [...wanted].filter((id) => !this.jobs.has(id));
    for (const row of await this.#store.loadBy(JOBS, 'id', missing)) this.addJob(row, true);
  }

  addJob(row: JobRow, stored: boolean): JobAddress {
    const address = new Address(JOB, row, stored);
    this.jobs.set(row.id, address);
    this.#arrivedJobs.add(address);
    return address;
  }

  addTask(row: TaskRow, stored: boolean): TaskAddress {
    const address = new Address(TASK, row, stored);
    this.tasks.set(row.id, address);
    this.#arrivedTasks.add(address);
    return address;
  }

  addWorker(row: WorkerRow, stored: boolean): WorkerAddress {
    const address = new WorkerAddress(WORKER, row, stored);
    this.workers.set(row.id, address);
    return address;
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

  /** Whether an address came into motion in this very turn. */
  hasArrived(address: JobAddress | TaskAddress | WorkerAddress): boolean {
    if (address instanceof WorkerAddress) return address.committed === null;
    return this.#arrivedJobs.has(address as JobAddress) || this.#arrivedTasks.has(address as TaskAddress);
  }

  /** Whatever is in motion under this id. */
  find(id: string): JobAddress | TaskAddress | WorkerAddress | undefined {
    return this.jobs.get(id) ?? this.tasks.get(id) ?? this.workers.get(id);
  }

  /** Everything in motion; between two turns that is what is committed. */
  *inMotion(): Iterable<JobAddress | TaskAddress | WorkerAddress> {
    yield* this.workers.values();
    yield* this.jobs.values();
    yield* this.tasks.values();
  }

  /** Notes who holds a task now, after the commit that decided it. */
  noteHolder(task: TaskAddress, before: TaskRow | null): void {
    if (before?.worker_id && isHeld(before)) this.held.get(before.worker_id)?.delete(task.id);
    const { worker_id } = task.row;
    if (!worker_id || !isHeld(task.row)) return;
    let set = this.held.get(worker_id);
    if (!set) {
      set = new Set();
      this.held.set(worker_id, set);
    }
    set.add(task.id);
  }

  /** Lets go of what came into memory or was touched in a turn and no worker holds. Workers stay: every match looks at them. */
  letGo(touched: { tasks: Iterable<TaskAddress>; jobs: Iterable<JobAddress> }): void {
    for (const task of new Set([...this.#arrivedTasks, ...touched.tasks])) {
      if (isHeld(task.row)) continue;
      task.letGo();
      this.tasks.delete(task.id);
    }
    for (const job of new Set([...this.#arrivedJobs, ...touched.jobs])) {
      const { counts } = job.row;
      if (counts.leased + counts.running > 0) continue;
      job.letGo();
      this.jobs.delete(job.id);
    }
    this.#arrivedTasks.clear();
    this.#arrivedJobs.clear();
  }
}
