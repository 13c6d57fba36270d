import { computed, effect, signal, untracked } from '@preact/signals';
import { hasEnded } from '../../../../machines/schema/statuses.ts';
import type { ArtifactView, JobView, TaskView } from '../../../../machines/schema/views.ts';
import type { Api } from '../api/http.ts';
import type { Address, Tab } from './address.ts';
import type { EventHub } from './event-hub.ts';
import { Refresher } from './refresher.ts';

/** Tasks that are shown at first, and that each wish for more adds. */
const FIRST_TASKS = 50;
/** Repeated and changed submissions that are named. */
const MOST_AGAIN = 20;
export const MORE_TASKS = 200;
/** Up to so many tasks, the artifacts of all of them come at once; of more, those of the task that is opened. */
const FEW_TASKS = 1_000;

/** The open job: itself always, its tasks and artifacts while they are looked at. */
export class JobDetail {
  readonly id: string;
  readonly job = signal<JobView | null>(null);
  /** The first of those that are looked at. */
  readonly tasks = signal<readonly TaskView[] | null>(null);
  /** Tasks whose times are drawn, while they are looked at. */
  readonly measured = signal<readonly TaskView[] | null>(null);
  /** Whether there are more of them. */
  readonly hasMore = signal(false);
  /** Tasks in this state are looked at; empty: all. */
  readonly status = signal<TaskView['status'] | ''>('');
  /** The task whose details are open. */
  readonly opened: { readonly value: string };
  /** Tasks that failed, and such whose last attempt did, while errors are looked at. */
  readonly troubled = signal<readonly TaskView[]>([]);
  readonly artifacts = signal<ReadonlyMap<string | null, readonly ArtifactView[]>>(new Map());
  /** The best task's model. */
  readonly bestModel = signal<ArtifactView | null>(null);
  /** The submitted specification as the server keeps it, numbers as written. */
  readonly request = signal<string | null>(null);
  /** Repeated and changed submissions of it, the newest first. */
  readonly again = signal<readonly JobView[]>([]);
  /** Whether the job that it was submitted again from is here; an imported one was on another server. */
  readonly hasOrigin = signal(false);
  readonly tab: { readonly value: Tab };
  readonly refresher: Refresher;
  /** Shown until the reader chooses. */
  readonly #opening = signal<Tab>('tasks');
  readonly #wanted = signal(FIRST_TASKS);
  readonly #api: Api;
  readonly #hub: EventHub;
  readonly #address: Address;
  #stops: (() => void)[] = [];

  constructor(id: string, api: Api, hub: EventHub, address: Address, onFault: (error: unknown) => void) {
    this.id = id;
    this.#api = api;
    this.#hub = hub;
    this.#address = address;
    this.opened = computed(() => address.place.value.task);
    this.tab = computed(() => address.place.value.tab || this.#opening.value);
    this.refresher = new Refresher((signal) => this.#load(signal), { every: 10_000, atLeast: 500, onFault });
  }

  start(): void {
    this.refresher.start();
    this.#stops = [
      this.#hub.subscribe((event) => {
        if (event.job_id === this.id && event.type !== 'log' && event.type !== 'progress') {
          this.refresher.touch();
        }
      }),
      effect(() => {
        // What is looked at now may not have been loaded yet.
        void [this.tab.value, this.status.value, this.opened.value, this.#wanted.value];
        if (this.job.peek()) void untracked(() => this.refresher.now());
      }),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.refresher.stop();
  }

  /** Opens the details of a task, or closes them; a link to the page leads to them. */
  toggleTask(id: string): void {
    this.#address.go({ task: this.opened.value === id ? '' : id, tab: this.tab.value }, 'replace');
  }

  /** Shows more of the tasks. */
  more(): void {
    this.#wanted.value += MORE_TASKS;
  }

  async #load(signal: AbortSignal): Promise<void> {
    const [job, again] = await Promise.all([
      this.#api.get<JobView>(this.#path(), {}, signal),
      this.#api.get<JobView[]>('v1/jobs', { resubmitted_from: this.id, limit: MOST_AGAIN }, signal),
    ]);
    this.again.value = again;
    const { resubmitted_from: origin } = job;
    if (origin) {
      const [found] = await this.#api.get<JobView[]>('v1/jobs', { ref: origin, limit: 1 }, signal);
      this.hasOrigin.value = found?.id === origin;
    }
    // Chosen once: it would be rude to turn the page while somebody reads.
    if (this.job.value === null) this.#opening.value = openingTab(job);
    this.job.value = job;
    this.bestModel.value = await this.#loadBestModel(job, signal);
    const tab = this.tab.value;
    if (tab === 'tasks') await this.#loadTasks(job, signal);
    if (tab === 'plots') {
      const query = { limit: FEW_TASKS };
      this.measured.value = await this.#api.get<TaskView[]>(this.#path('/tasks'), query, signal);
    }
    if (tab === 'errors') await this.#loadTroubled(job, signal);
    if (tab === 'request' && this.request.value === null) {
      this.request.value = await this.#api.text(this.#path('/request'), signal);
    }
  }

  async #loadBestModel({ aggregate }: JobView, signal: AbortSignal): Promise<ArtifactView | null> {
    const { best_task_id: task_id, best_model_artifact_id: model } = aggregate;
    if (task_id === null || model === null) return null;
    const list = await this.#api.get<ArtifactView[]>(this.#path('/artifacts'), { task_id }, signal);
    return list.find(({ id }) => id === model) ?? null;
  }

  async #loadTasks({ aggregate }: JobView, signal: AbortSignal): Promise<void> {
    const wanted = this.#wanted.value;
    const of = aggregate.num_tasks <= FEW_TASKS ? undefined : this.opened.value;
    const [tasks, artifacts] = await Promise.all([
      // One more than is shown tells whether there are more.
      this.#api.get<TaskView[]>(
        this.#path('/tasks'),
        { status: this.status.value, limit: wanted + 1 },
        signal,
      ),
      of === '' ? [] : this.#api.get<ArtifactView[]>(this.#path('/artifacts'), { task_id: of }, signal),
    ]);
    this.artifacts.value = Map.groupBy(artifacts, ({ task_id }) => task_id);
    this.tasks.value = tasks.slice(0, wanted);
    this.hasMore.value = tasks.length > wanted;
  }

  async #loadTroubled({ status, aggregate }: JobView, signal: AbortSignal): Promise<void> {
    const ask = (of: TaskView['status']) =>
      this.#api.get<TaskView[]>(this.#path('/tasks'), { status: of, limit: FEW_TASKS }, signal);
    const lists = await Promise.all([
      aggregate.num_failed > 0 ? ask('failed') : [],
      ...(hasEnded(status) ? [] : [ask('queued'), ask('running')]),
    ]);
    this.troubled.value = lists.flat().filter(({ error }) => error !== null);
  }

  #path(rest = ''): string {
    return `v1/jobs/${encodeURIComponent(this.id)}${rest}`;
  }
}

/** What one wants to see first: of a failed job the errors, of one with results the ranking. */
function openingTab({ status, aggregate }: JobView): Tab {
  if (status === 'failed') return 'errors';
  return aggregate.num_succeeded > 0 ? 'ranking' : 'tasks';
}
