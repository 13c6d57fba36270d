import type { Backend, EventSource, InspectionSource } from '../../gateway/backend.ts';
import { LeaderOnly } from '../../gateway/leadership.ts';
import type { MessageOf, MessageType, ReplyOf } from '../../gateway/messages.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import type { Reign } from './reign.ts';

/**
 * What the gateway talks to, whoever leads: behind it is what this server knows while it stands by, and then what it leads.
 * What nobody here knows throws `LeaderOnly`.
 */
export class BackendRelay implements Backend {
  readonly metrics = new Metrics();
  readonly #reign: Reign;
  #behind: Backend | null = null;
  /** Of streams that were opened while this server stood by. */
  #events: EventSource | null = null;

  constructor(reign: Reign) {
    this.#reign = reign;
  }

  /** @param events those of another source, which goes on with the backend's own */
  attach(backend: Backend, events: EventSource | null = null): void {
    this.#behind = backend;
    this.#events = events;
  }

  async send<T extends MessageType>(message: MessageOf<T>): Promise<ReplyOf<T>> {
    return this.#present.send(message);
  }

  get reads(): Backend['reads'] {
    return this.#present.reads;
  }

  get blobs(): Backend['blobs'] {
    return this.#present.blobs;
  }

  get events(): EventSource {
    return this.#events ?? this.#present.events;
  }

  get inspection(): InspectionSource {
    return this.#present.inspection;
  }

  get state(): string {
    if (this.#reign.state === 'superseded' || !this.#behind) return this.#reign.state;
    const { state } = this.#behind;
    // Where nobody writes, no turn notices that the store is away.
    return state === 'serving' && this.#reign.missesStore ? 'degraded' : state;
  }

  get #present(): Backend {
    // What one that was superseded has in memory is old.
    if (this.#behind === null || this.#reign.state === 'superseded') throw new LeaderOnly();
    return this.#behind;
  }
}
