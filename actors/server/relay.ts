import type { Backend, EventSource, InspectionSource } from '../../gateway/backend.ts';
import type { MessageOf, MessageType, ReplyOf } from '../../gateway/messages.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import type { Reign } from './reign.ts';

/**
 * What the gateway talks to before there is something behind it: a server that stands by listens, too. Who is let in
 * while nothing is there hears why.
 */
export class BackendRelay implements Backend {
  readonly metrics = new Metrics();
  readonly #reign: Reign;
  #behind: Backend | null = null;

  constructor(reign: Reign) {
    this.#reign = reign;
  }

  attach(backend: Backend): void {
    this.#behind = backend;
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
    return this.#present.events;
  }

  get inspection(): InspectionSource {
    return this.#present.inspection;
  }

  get state(): string {
    const { state } = this.#reign;
    return state === 'leading' && this.#behind ? this.#behind.state : state;
  }

  get #present(): Backend {
    if (this.#behind) return this.#behind;
    throw this.#reign.refusal;
  }
}
