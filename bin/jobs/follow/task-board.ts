import { pipelineName } from '../../../machines/ranking/steps.ts';
import { ENDED_STATUSES } from '../../../machines/schema/statuses.ts';
import type { EventView, TaskStatus, TaskView } from '../../../machines/schema/views.ts';

interface Entry {
  status: TaskStatus;
  /** How much of the running attempt is done, 0 to 1. */
  fraction: number;
}

const STATUS: Readonly<Record<string, TaskStatus>> = {
  task_leased: 'leased',
  task_started: 'running',
  task_completed: 'succeeded',
  task_reused: 'succeeded',
  task_lost: 'lost',
  task_requeued: 'queued',
  task_cancelled: 'cancelled',
};

/** Beyond this many tasks their names are not asked for; their ids stand in the lines. */
export const MAX_NAMED = 5_000;

/** Where every task of a job stands, told by the job's events alone. */
export class TaskBoard {
  #total: number;
  readonly #tasks = new Map<string, Entry>();
  readonly #counts = new Map<TaskStatus, number>();
  /** Sum of the fractions of the tasks that have not ended. */
  #partial = 0;

  /** @param total number of tasks of the job, all queued before the first event that is applied */
  constructor(total: number) {
    this.#total = total;
    this.#counts.set('queued', total);
  }

  get total(): number {
    return this.#total;
  }

  /** A job that selects has more tasks than it had. */
  grow(total: number): void {
    if (total <= this.#total) return;
    this.#counts.set('queued', this.count('queued') + total - this.#total);
    this.#total = total;
  }

  apply(event: EventView): void {
    if (event.task_id === null) return;
    const status = event.type === 'task_failed' ? failureStatus(event) : STATUS[event.type];
    if (status !== undefined) this.#setStatus(event.task_id, status);
    else this.#advance(event.task_id, event.data.progress);
  }

  count(status: TaskStatus): number {
    return this.#counts.get(status) ?? 0;
  }

  get ended(): number {
    return ENDED_STATUSES.reduce((sum, status) => sum + this.count(status), 0);
  }

  /** Tasks done, counting the reported part of those that run. */
  get done(): number {
    return this.ended + this.#partial;
  }

  #setStatus(id: string, status: TaskStatus): void {
    const entry = this.#tasks.get(id) ?? { status: 'queued', fraction: 0 };
    this.#counts.set(entry.status, this.count(entry.status) - 1);
    this.#counts.set(status, this.count(status) + 1);
    this.#partial -= entry.fraction;
    this.#tasks.set(id, { status, fraction: 0 });
  }

  #advance(id: string, progress: unknown): void {
    const entry = this.#tasks.get(id);
    if (typeof progress !== 'number' || entry?.status !== 'running') return;
    const fraction = Math.min(Math.max(progress, 0), 1);
    this.#partial += fraction - entry.fraction;
    entry.fraction = fraction;
  }
}

const failureStatus = (event: EventView): TaskStatus => (event.data.requeued === true ? 'queued' : 'failed');

/**
 * A short name for each task, by what tells the tasks of the job apart: the pipeline, the dataset, or both,
 * with a number where that is not enough.
 */
export function taskLabels(
  tasks: readonly Pick<TaskView, 'id' | 'dataset_label' | 'pipeline_label' | 'pipeline_steps' | 'role'>[],
): Map<string, string> {
  const several = (values: string[]) => new Set(values).size > 1;
  const byDataset = several(tasks.map((t) => t.dataset_label));
  const byPipeline = several(tasks.map(pipelineName)) || !byDataset;
  const names = tasks.map((t) =>
    [byDataset && t.dataset_label, byPipeline && pipelineName(t)]
      .filter((part) => part !== false)
      .join(' · '),
  );
  const uses = new Map<string, number>();
  for (const name of names) uses.set(name, (uses.get(name) ?? 0) + 1);
  const seen = new Map<string, number>();
  return new Map(
    tasks.map(({ id }, i) => {
      const name = names[i] as string;
      if (uses.get(name) === 1) return [id, name];
      const nth = (seen.get(name) ?? 0) + 1;
      seen.set(name, nth);
      return [id, `${name} #${nth}`];
    }),
  );
}
