import { signal } from '@preact/signals';
import type { EventView } from '../../../../machines/schema/views.ts';
import { ResponseError } from '../../../client/errors.ts';
import type { Api } from './http.ts';
import type { Me, Session } from './session.ts';
import { wordsOf } from './words-of.ts';

export type LinkState =
  | { is: 'connecting' }
  | { is: 'live' }
  /** `until` in milliseconds since the epoch. */
  | { is: 'waiting'; until: number; why: string }
  | { is: 'refused'; status: number; code: string; why: string };

const LONGEST_WAIT_MS = 10_000;
/** Rights may be granted while the page is open; it asks again at this pace. */
const REFUSED_WAIT_MS = 30_000;

/**
 * The connection to the global event stream, taken up again behind the last event seen whenever it is lost, so
 * that no event is missed or doubled. A browser cannot see why an upgrade was refused, so REST is asked first.
 */
export class Link {
  readonly state = signal<LinkState>({ is: 'connecting' });
  readonly #api: Api;
  readonly #session: Session;
  readonly #onEvent: (event: EventView) => void;
  #lastId: number | undefined;
  #run: AbortController | null = null;
  #socket: WebSocket | null = null;
  #wake: () => void = () => {};

  constructor(api: Api, session: Session, onEvent: (event: EventView) => void) {
    this.#api = api;
    this.#session = session;
    this.#onEvent = onEvent;
  }

  start(): void {
    if (this.#run) return;
    this.#run = new AbortController();
    window.addEventListener('online', this.#retry);
    void this.#keepUp(this.#run.signal);
  }

  stop(): void {
    window.removeEventListener('online', this.#retry);
    this.#run?.abort();
    this.#run = null;
    this.#socket?.close();
    this.#wake();
  }

  /** Begins anew with another credential. What was seen already is not asked for again. */
  restart(): void {
    this.stop();
    this.#session.me.value = null;
    this.state.value = { is: 'connecting' };
    this.start();
  }

  /** Ends a wait. */
  retry(): void {
    this.#wake();
  }

  /** A request failed in a way that concerns the connection: a dead one does not say so by itself. */
  suspect(): void {
    if (this.state.peek().is === 'live') this.#socket?.close();
  }

  readonly #retry = () => this.retry();

  async #keepUp(stopped: AbortSignal): Promise<void> {
    for (let failures = 0; !stopped.aborted; failures++) {
      try {
        this.#session.me.value = await this.#api.get<Me>('v1/me', {}, stopped);
        if (await this.#follow(stopped)) failures = 0;
        else await this.#forgetUnknown(stopped);
        if (!stopped.aborted) await this.#pause(failures, 'the connection was lost', stopped);
      } catch (error) {
        if (stopped.aborted) return;
        if (error instanceof ResponseError && error.denied) await this.#refused(error, stopped);
        else await this.#pause(failures, wordsOf(error), stopped);
      }
    }
  }

  /** Of a server that was put back to an older copy, and refuses a stream behind an event that it does not have. */
  async #forgetUnknown(stopped: AbortSignal): Promise<void> {
    if (this.#lastId === undefined || stopped.aborted) return;
    const [newest] = await this.#api.get<EventView[]>('v1/events', { limit: 1 }, stopped);
    if ((newest?.id ?? 0) < this.#lastId) this.#lastId = undefined;
  }

  async #refused({ status, code, message }: ResponseError, stopped: AbortSignal): Promise<void> {
    this.#session.me.value = null;
    this.state.value = { is: 'refused', status, code, why: message };
    await this.#sleep(REFUSED_WAIT_MS, stopped);
  }

  async #pause(failures: number, why: string, stopped: AbortSignal): Promise<void> {
    const ms = Math.min(LONGEST_WAIT_MS, 250 * 2 ** failures) * (0.75 + Math.random() / 2);
    this.state.value = { is: 'waiting', until: Date.now() + ms, why };
    await this.#sleep(ms, stopped);
  }

  #sleep(ms: number, stopped: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (stopped.aborted) return resolve();
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Follows one connection to its end; tells whether there was one. */
  #follow(stopped: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (stopped.aborted) return resolve(false);
      const url = this.#api.url('v1/events/stream', {
        token: this.#session.token.peek(),
        after_id: this.#lastId,
      });
      url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
      const socket = new WebSocket(url);
      this.#socket = socket;
      let opened = false;
      socket.onopen = () => {
        opened = true;
        if (!stopped.aborted) this.state.value = { is: 'live' };
      };
      socket.onmessage = ({ data }) => {
        if (!stopped.aborted) this.#take(JSON.parse(data as string) as EventView);
      };
      socket.onclose = () => {
        if (this.#socket === socket) this.#socket = null;
        resolve(opened);
      };
    });
  }

  #take(event: EventView): void {
    if (this.#lastId !== undefined && event.id <= this.#lastId) return;
    this.#lastId = event.id;
    this.#onEvent(event);
  }
}
