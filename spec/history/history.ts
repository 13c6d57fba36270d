import type { EventView } from '../../machines/schema/views.ts';

/** What an event says of what happened; its time and message are checked elsewhere. */
export type Happening = Pick<EventView, 'id' | 'type' | 'job_id' | 'task_id' | 'worker_id' | 'data'>;

export interface TaskHistory {
  job: string;
  status: string;
  attempt: number;
  worker: string | null;
  /** The task whose result it has. */
  reusedFrom: string | null;
}

interface JobHistory {
  status: string;
  tasks: number;
  /** Tasks that have not ended. */
  open: number;
  cancelRequested: boolean;
  retried: boolean;
  refits: number;
}

const ENDED = ['succeeded', 'failed', 'cancelled'];
/** Of jobs: their tasks may have to wait for their turn. */
const QUEUES = ['queued', 'running'];
const HELD = ['leased', 'running'];

export const UNTOUCHED: TaskHistory = {
  job: '',
  status: 'queued',
  attempt: 0,
  worker: null,
  reusedFrom: null,
};

/**
 * What follows from the committed events alone. Each event is held against what came before it: this is where a
 * second holder, a second result or a job that runs although it was cancelled shows.
 */
export class History {
  lastId = 0;
  readonly jobs = new Map<string, JobHistory>();
  /** Those that an event was about; all others are {@link UNTOUCHED}. */
  readonly tasks = new Map<string, TaskHistory>();
  /** Worker id to `alive` or `dead`. */
  readonly workers = new Map<string, string>();
  /** Workers that an operator drains. */
  readonly drained = new Set<string>();
  /** The queue as a whole. */
  isPaused = false;
  /** `task attempt` of each lease that was granted, started, and ended by a report or by the server. */
  readonly leased = new Set<string>();
  readonly started = new Set<string>();
  readonly ended = new Set<string>();
  /** Tasks that had the result of an earlier one. */
  reused = 0;
  /** Tasks that refit what was selected. */
  refits = 0;
  /** How many tasks and jobs are in each status. */
  readonly taskCounts = new Map<string, number>();
  readonly jobCounts = new Map<string, number>();
  /** Worker id to how many tasks it holds. */
  readonly held = new Map<string, number>();
  /** Jobs that were deleted; nothing is told of them any more. */
  readonly deleted = new Set<string>();
  /** A worker that is drained with the end of its last task, which is the next event. */
  #emptied: string | null = null;
  /** Job id to its tasks that an event was about. */
  readonly #tasksOf = new Map<string, Set<string>>();
  /** Jobs that something happened to since {@link settle}, and such as have not ended. */
  readonly moved = new Set<string>();

  /** @throws Error when an event cannot follow what came before */
  take(events: readonly Happening[]): void {
    for (const event of events) {
      must(event.id === this.lastId + 1, `event ${event.id} follows event ${this.lastId}`);
      this.lastId = event.id;
      if (event.job_id !== null) this.moved.add(event.job_id);
      const emptied = this.#emptied;
      this.#emptied = null;
      if (event.type.startsWith('task_')) this.#takeTask(event);
      else if (event.type.startsWith('job_')) this.#takeJob(event);
      else if (event.type.startsWith('worker_')) this.#takeWorker(event);
      else if (event.type === 'refit_queued') this.#takeRefit(event);
      else if (event.type.startsWith('queue_') && event.data.kind === 'all')
        this.isPaused = event.type === 'queue_paused';
      must(emptied === null || (this.held.get(emptied) ?? 0) === 0, `${emptied} is drained with tasks`);
    }
  }

  /** What a job selected is refitted by one more task, which follows at once. */
  #takeRefit({ job_id, data }: Happening): void {
    const job = this.#job(job_id as string);
    must(['queued', 'running'].includes(job.status), `a refit of job ${job_id}, which is ${job.status}`);
    must(!this.tasks.has(data.task_id as string), `${data.task_id} refits twice`);
    job.tasks++;
    job.open++;
    job.refits++;
    this.refits++;
    this.#count(this.taskCounts, 'queued', 1);
  }

  #takeWorker({ type, worker_id }: Happening): void {
    const id = worker_id as string;
    if (type === 'worker_removed') {
      must(this.workers.get(id) === 'dead', `worker ${id} is removed, which is ${this.workers.get(id)}`);
      must((this.held.get(id) ?? 0) === 0, `worker ${id} is removed, and has tasks`);
      this.workers.delete(id);
      this.drained.delete(id);
    } else if (type === 'worker_drain_ordered') this.drained.add(id);
    else if (type === 'worker_drain_lifted') this.drained.delete(id);
    else if (type === 'worker_drained') this.#emptied = (this.held.get(id) ?? 0) === 0 ? null : id;
    else this.workers.set(id, ['worker_dead', 'worker_stopped'].includes(type) ? 'dead' : 'alive');
  }

  #takeJob({ type, job_id, data }: Happening): void {
    const id = job_id as string;
    if (type === 'job_deleted') {
      this.#deleteJob(id);
      return;
    }
    if (type === 'job_submitted') {
      must(!this.jobs.has(id) && !this.deleted.has(id), `job ${id} is submitted twice`);
      const tasks = data.num_tasks as number;
      this.jobs.set(id, {
        status: '',
        tasks,
        open: tasks,
        cancelRequested: false,
        retried: false,
        refits: 0,
      });
      this.#count(this.taskCounts, 'queued', tasks);
      this.#moveJob(id, 'queued');
      return;
    }
    const job = this.#job(id);
    if (type === 'job_cancel_requested') {
      job.cancelRequested = true;
      if (['queued', 'running'].includes(job.status)) this.#moveJob(id, 'cancelling');
      return;
    }
    const { status } = job;
    if (type === 'job_changed') {
      must(data.priority === undefined || QUEUES.includes(status), `a priority of a job that is ${status}`);
      return;
    }
    const to = { job_running: 'running', job_retried: 'queued' }[type] ?? type.slice('job_'.length);
    const from: Record<string, string[]> = {
      running: ['queued'],
      queued: ['failed', 'succeeded'],
      // All that it still had to do may be given up before any of it is leased.
      succeeded: ['queued', 'running'],
      failed: ['queued', 'running'],
      cancelled: ['cancelling'],
    };
    must(from[to]?.includes(status) ?? false, `${type} of a job that is ${status}`);
    if (ENDED.includes(to)) must(job.open === 0, `${type}, and ${job.open} of its tasks are open`);
    if (type === 'job_retried') job.retried = true;
    this.#moveJob(id, to);
  }

  /** All of it goes at once. */
  #deleteJob(id: string): void {
    const { status } = this.#job(id);
    must(ENDED.includes(status), `job ${id} is deleted, and is ${status}`);
    for (const task of this.#tasksOf.get(id) ?? []) {
      this.#count(this.taskCounts, this.tasks.get(task)?.status as string, -1);
      this.tasks.delete(task);
    }
    this.#tasksOf.delete(id);
    this.#count(this.jobCounts, status, -1);
    this.jobs.delete(id);
    this.moved.delete(id);
    this.deleted.add(id);
  }

  #takeTask(event: Happening): void {
    const id = event.task_id as string;
    const job = this.#job(event.job_id as string);
    const task = this.tasks.get(id) ?? this.#addTask(id, event.job_id as string);
    this.#countHeld(task, -1);
    this.#moveTask(job, task, this.#statusAfter(event, task, job));
    this.#countHeld(task, 1);
  }

  #addTask(id: string, job: string): TaskHistory {
    const task = { ...UNTOUCHED, job };
    this.tasks.set(id, task);
    const others = this.#tasksOf.get(job) ?? new Set();
    this.#tasksOf.set(job, others.add(id));
    return task;
  }

  /** @throws Error when the event cannot follow what came before */
  #statusAfter(event: Happening, task: TaskHistory, job: JobHistory): string {
    const { type, data } = event;
    const id = event.task_id as string;
    const lease = `${id} ${data.attempt}`;
    const refuse = (why: string) => must(false, `${type} of ${id}, which is ${task.status}: ${why}`);
    const among = (...statuses: string[]) => {
      if (!statuses.includes(task.status)) refuse(`only from ${statuses.join(', ')}`);
    };
    switch (type) {
      case 'task_leased':
        among('queued');
        if (data.attempt !== task.attempt + 1) refuse(`attempt ${data.attempt} after ${task.attempt}`);
        if (!['queued', 'running'].includes(job.status)) refuse(`its job is ${job.status}`);
        if (this.isPaused) refuse('the queue is paused');
        if (this.drained.has(event.worker_id as string)) refuse(`worker ${event.worker_id} is drained`);
        task.attempt++;
        task.worker = event.worker_id;
        this.leased.add(`${lease} ${event.worker_id}`);
        return 'leased';
      case 'task_started':
        among('leased');
        if (event.worker_id !== task.worker) refuse('started by another worker');
        if (job.status !== 'running') refuse(`its job is ${job.status}`);
        this.started.add(lease);
        return 'running';
      case 'task_completed':
        among('running');
        if (event.worker_id !== task.worker || data.attempt !== task.attempt) refuse('by another lease');
        if (job.status !== 'running') refuse(`its job is ${job.status}`);
        this.ended.add(lease);
        return 'succeeded';
      case 'task_reused': {
        among('queued');
        if (job.refits === 0 && (job.status !== 'queued' || job.retried))
          refuse('it is looked for when a job is submitted');
        const { task_id } = data.reused_from as { task_id: string };
        const from = this.tasks.get(task_id);
        if (from?.status !== 'succeeded' || from.reusedFrom !== null) refuse(`${task_id} computed nothing`);
        task.reusedFrom = task_id;
        this.reused++;
        return 'succeeded';
      }
      case 'task_failed':
        // What waits fails only where no live worker is left for it.
        if (data.fault === 'worker' && !data.requeued) among('queued', 'leased', 'running');
        else among('leased', 'running', 'lost');
        if (task.status !== 'queued') this.ended.add(lease);
        return data.requeued ? 'failing' : 'failed';
      case 'task_lost':
        among('leased', 'running');
        return 'lost';
      case 'task_requeued':
        if (data.reason === 'undelivered') {
          among('leased');
          task.attempt--;
        } else if (data.reason === 'taken_back' || data.reason === 'preempted') {
          among('leased', 'running');
          this.ended.add(lease);
        } else among('failing', 'lost', 'failed');
        // A retry that was cancelled in the middle comes to its end, and what comes back is cancelled.
        if (job.status === 'cancelled' || (job.status === 'cancelling' && data.reason !== 'retry')) {
          refuse('its job is being cancelled');
        }
        task.worker = null;
        return 'queued';
      case 'task_cancelled':
        among('queued', 'leased', 'running');
        if (!job.cancelRequested) refuse('nobody asked for it');
        this.ended.add(lease);
        return 'cancelled';
      default:
        return task.status;
    }
  }

  #job(id: string): JobHistory {
    const job = this.jobs.get(id);
    if (!job) {
      const why = this.deleted.has(id) ? 'was deleted' : 'was never submitted';
      throw new Error(`an event of job ${id}, which ${why}`);
    }
    return job;
  }

  #moveTask(job: JobHistory, task: TaskHistory, to: string): void {
    job.open += Number(ENDED.includes(task.status)) - Number(ENDED.includes(to));
    this.#count(this.taskCounts, task.status, -1);
    this.#count(this.taskCounts, to, 1);
    task.status = to;
  }

  #moveJob(id: string, to: string): void {
    const job = this.#job(id);
    if (job.status !== '') this.#count(this.jobCounts, job.status, -1);
    this.#count(this.jobCounts, to, 1);
    job.status = to;
  }

  #countHeld({ worker, status }: TaskHistory, by: number): void {
    if (worker !== null && HELD.includes(status)) this.#count(this.held, worker, by);
  }

  #count(counts: Map<string, number>, key: string, by: number): void {
    counts.set(key, (counts.get(key) ?? 0) + by);
  }

  /** The rows have been looked at. */
  settle(): void {
    for (const id of this.moved) if (ENDED.includes(this.#job(id).status)) this.moved.delete(id);
  }

  get unended(): string[] {
    return [...this.jobs].filter(([, { status }]) => !ENDED.includes(status)).map(([id]) => id);
  }
}

/** @throws Error when a promise of the service is broken */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
