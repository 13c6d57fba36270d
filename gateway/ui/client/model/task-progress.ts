import { computed, type ReadonlySignal } from '@preact/signals';
import type { EventView } from '../../../../machines/schema/views.ts';
import type { Api } from '../api/http.ts';
import type { EventHub } from './event-hub.ts';
import { EventTail } from './event-tail.ts';

/** How far a running task is, as its runner last said. */
export interface Progress {
  /** 0 to 1. */
  share: number;
  message: string;
  /** Seconds since the epoch. */
  ts: number;
}

const shareOf = ({ data }: EventView): number | undefined =>
  typeof data.progress === 'number' ? Math.min(1, Math.max(0, data.progress)) : undefined;

/** What the running tasks of a job said last about how far they are: from its last events, then as it comes. */
export class TaskProgress {
  /** By task; of an attempt that began anew, nothing until it says something. */
  readonly byTask: ReadonlySignal<ReadonlyMap<string, Progress>>;
  readonly #tail: EventTail;

  constructor(api: Api, hub: EventHub, jobId: string) {
    this.#tail = new EventTail(api, hub, {
      jobId,
      accepts: (event) => event.type === 'task_started' || shareOf(event) !== undefined,
      page: 500,
      kept: 500,
    });
    this.byTask = computed(() => {
      const found = new Map<string, Progress>();
      for (const event of this.#tail.rows.value) {
        const share = shareOf(event);
        if (event.task_id === null) continue;
        if (share === undefined) found.delete(event.task_id);
        else found.set(event.task_id, { share, message: event.message, ts: event.ts });
      }
      return found;
    });
  }

  start(): void {
    this.#tail.start();
  }

  stop(): void {
    this.#tail.stop();
  }
}
