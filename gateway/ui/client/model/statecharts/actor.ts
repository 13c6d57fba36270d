import { computed, effect, signal } from '@preact/signals';
import type { EventView } from '../../../../../machines/schema/views.ts';
import type { Api } from '../../api/http.ts';
import type { EventHub } from '../event-hub.ts';
import { EventTail, isGap, type TailOptions } from '../event-tail.ts';
import { Refresher } from '../refresher.ts';
import type { Choosable } from './past.ts';
import { type Context, stateId } from './replay/act.ts';
import { recordedSteps, type Step, stepsOf } from './replay/steps.ts';
import { WorkerWorld } from './replay/worker.ts';
import { jobAtFirst, type Message, type Unexplained, World } from './replay/world.ts';

export interface About {
  kind: Choosable;
  id: string;
  /** Of a job its own, of a task its job's; of a worker empty. */
  jobId: string;
}

/** An actor as it is committed. */
export interface ActorView {
  value: unknown;
  context: Context;
}

/** What of its past can be told, and why no more. */
export interface Past {
  messages: readonly Message[];
  /** Where what is recorded cannot be explained by its machine. */
  fault: Unexplained | null;
  /** Whether contexts are known. */
  replayed: boolean;
  why: string;
}

const PAGE = 1_000;
/** Pages read without being asked: events that move an actor may lie far before the newest lines of a log. */
const PAGES = 5;
/** Events that are made to happen again in some tenths of a second. */
const MOST_REPLAYED = 3_000;
const QUIET = new Set(['log', 'progress']);

/** One job, task or worker: where it is, what it knows, and the steps that led there. */
export class Actor {
  readonly about: About;
  readonly tail: EventTail;
  readonly refresher: Refresher;
  readonly now = signal<ActorView | null>(null);
  readonly #hub: EventHub;
  #stops: (() => void)[] = [];

  /** Its events as far as they have been read, and were not deleted. */
  readonly #events = computed(() => this.tail.rows.value.filter((event) => !isGap(event)));
  /** Where all of them were deleted, the words for that. */
  readonly #deleted = computed(() =>
    this.#events.value.length > 0 ? undefined : this.tail.rows.value.at(-1)?.message,
  );
  readonly complete = computed(
    () => this.tail.loaded.value && !this.tail.hasEarlier.value && this.#deleted.value === undefined,
  );
  readonly past = computed((): Past => this.#past());
  readonly steps = computed((): readonly Step[] => {
    const { kind, id } = this.about;
    const { replayed, messages } = this.past.value;
    if (replayed) return stepsOf(messages, id);
    return recordedSteps(kind, this.#events.value, this.complete.value);
  });
  /** The id of its state; null while that is not known. */
  readonly state = computed(() =>
    this.now.value === null ? null : stateId(this.about.kind, this.now.value.value),
  );
  /** Which step is looked at; null: the actor as it is. */
  readonly at = signal<number | null>(null);
  readonly step = computed(() => (this.at.value === null ? null : (this.steps.value[this.at.value] ?? null)));

  constructor(about: About, api: Api, hub: EventHub, onFault: (error: unknown) => void) {
    this.about = about;
    this.#hub = hub;
    this.tail = new EventTail(api, hub, tailOptions(about));
    const path = `v1/machines/${about.kind}/actors/${encodeURIComponent(about.id)}`;
    const load = async (signal: AbortSignal) => {
      this.now.value = await api.get<ActorView>(path, {}, signal);
    };
    this.refresher = new Refresher(load, { every: 10_000, atLeast: 500, onFault });
  }

  start(): void {
    this.tail.start();
    this.refresher.start();
    let pages = 1;
    this.#stops = [
      this.#hub.subscribe((event) => {
        // A task that is told to stop leaves no event of its own.
        const ofJob = event.job_id === this.about.jobId && event.type.startsWith('job_');
        if (ofJob || concerns(this.about, event)) this.refresher.touch();
      }),
      effect(() => {
        const { page, hasEarlier, fault } = this.tail;
        if (page.value !== pages || !hasEarlier.value || fault.value !== null || pages >= PAGES) return;
        pages++;
        void this.tail.earlier();
      }),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.tail.stop();
    this.refresher.stop();
  }

  /** Looks at a step, the newest or one before the first included: then at the actor as it is. */
  goTo(step: number | null): void {
    const last = this.steps.peek().length - 1;
    this.at.value = step === null || step >= last || last < 0 ? null : Math.max(0, step);
  }

  #past(): Past {
    const { kind, id } = this.about;
    const rows = this.#events.value;
    const now = this.now.value?.context;
    const none = (why: string): Past => ({ messages: [], fault: null, replayed: false, why });
    if (!now || !this.tail.loaded.value) return none('');
    if (rows.length > MOST_REPLAYED) return none(`More than ${MOST_REPLAYED} events are not replayed here.`);
    if (kind === 'worker') {
      const { messages, fault } = new WorkerWorld(id, rows, now, this.complete.value);
      if (messages.length === 0) return none('Not enough of its events have been read.');
      return { messages, fault, replayed: fault === null, why: '' };
    }
    if (this.#deleted.value !== undefined) return none(`${this.#deleted.value}.`);
    if (!this.complete.value) return none('Its first events have not been read.');
    const job = kind === 'job' ? jobAtFirst(now) : null;
    if (kind === 'job' && job === null)
      return none('It selects among variants, and what it knows of them is not recorded step by step.');
    const tasks = new Map(kind === 'task' ? [[id, { backoff_seconds: now.backoff_seconds }]] : []);
    const { messages, fault } = new World({ job: job && { id, context: job }, tasks }, rows);
    return { messages, fault, replayed: fault === null, why: '' };
  }
}

/** Whether an event tells of an actor, a job's being those of its tasks too. */
function concerns({ kind, id, jobId }: About, event: EventView): boolean {
  if (QUIET.has(event.type)) return false;
  if (kind === 'worker') return event.worker_id === id;
  return kind === 'task' ? event.task_id === id : event.job_id === jobId;
}

function tailOptions(about: About): TailOptions {
  const { kind, id, jobId } = about;
  const common = { page: PAGE, kept: PAGE, accepts: (event: EventView) => concerns(about, event) };
  if (kind === 'task') return { ...common, jobId, taskId: id };
  return kind === 'job' ? { ...common, jobId } : common;
}
