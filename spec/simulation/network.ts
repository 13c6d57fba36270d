import { Dispatcher } from 'undici';
import type { Seeded } from '../support/seeded.ts';
import type { StepClock } from '../support/step-clock.ts';
import type { WireAnswer, WireCall, WireRequest } from '../support/wire.ts';
import type { PeerTime } from './time.ts';

/** How bad a line is; probabilities a request. */
export interface Weather {
  /** Seconds that a message takes at most. */
  delay: number;
  /** The request or its answer is lost without a word. */
  loss: number;
  /** The connection breaks while the request is under way. */
  cut: number;
  /** The request arrives twice. */
  twice: number;
}

export const CALM: Weather = { delay: 0.01, loss: 0, cut: 0, twice: 0 };

/** An answer that a peer has got: what it may rely on. */
export interface Acknowledged {
  peer: string;
  method: string;
  path: string;
  body: string;
  reply: Record<string, unknown>;
}

export interface NetworkCounts {
  requests: number;
  acknowledged: number;
  refused: number;
  lost: number;
  cut: number;
  doubled: number;
}

/** The place where requests arrive; null while there is no server. */
export type Destination = () => { request(request: WireRequest): WireCall } | null;

export class Network {
  readonly counts: NetworkCounts = { requests: 0, acknowledged: 0, refused: 0, lost: 0, cut: 0, doubled: 0 };
  readonly clock: StepClock;
  readonly destination: Destination;
  readonly note: (line: string) => void;
  onAcknowledged: (answer: Acknowledged) => void = () => {};
  /** Told of each request that reaches the server, with its body. */
  onArrival: (request: WireRequest) => void = () => {};

  constructor(clock: StepClock, destination: Destination, note: (line: string) => void) {
    this.clock = clock;
    this.destination = destination;
    this.note = note;
  }

  line(peer: string, time: PeerTime, chance: Seeded): PlayedLine {
    return new PlayedLine(this, peer, time, chance);
  }
}

type Handler = Dispatcher.DispatchHandler;

/** One peer's way to the server, in the place of its sockets. */
export class PlayedLine extends Dispatcher {
  weather: Weather = CALM;
  /** Nothing gets through: requests are refused at once, or vanish. */
  broken: 'refuses' | 'swallows' | null = null;
  readonly #network: Network;
  readonly #peer: string;
  readonly #time: PeerTime;
  readonly #chance: Seeded;

  constructor(network: Network, peer: string, time: PeerTime, chance: Seeded) {
    super();
    this.#network = network;
    this.#peer = peer;
    this.#time = time;
    this.#chance = chance;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    this.#network.counts.requests++;
    new Journey(this.#network, this.#peer, this.#time, this.#fate(), options, handler).begin();
    return true;
  }

  /** Everything that will happen to one request, drawn at once, so that no draw depends on what others do. */
  #fate(): Fate {
    const { delay, loss, cut, twice } = this.weather;
    const chance = this.#chance;
    const draw = {
      there: chance.between(0.0005, delay),
      back: chance.between(0.0005, delay),
      loseRequest: chance.chance(loss / 2),
      loseAnswer: chance.chance(loss / 2),
      cutAfter: chance.chance(cut) ? chance.between(0, 10 * delay) : null,
      again: chance.chance(twice) ? chance.between(0, 60) : null,
    };
    return { ...draw, broken: () => this.broken };
  }

  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {}
}

interface Fate {
  there: number;
  back: number;
  loseRequest: boolean;
  loseAnswer: boolean;
  cutAfter: number | null;
  again: number | null;
  broken(): 'refuses' | 'swallows' | null;
}

const broken = (code: string) => Object.assign(new Error(code), { code });

/** One request from the client to the server and back. */
class Journey {
  readonly #network: Network;
  readonly #peer: string;
  readonly #time: PeerTime;
  readonly #fate: Fate;
  readonly #request: WireRequest;
  readonly #handler: Handler;
  readonly #limit: number;
  #call: WireCall | null = null;
  #over = false;
  #cancelLimit: () => void = () => {};

  constructor(
    network: Network,
    peer: string,
    time: PeerTime,
    fate: Fate,
    options: Dispatcher.DispatchOptions,
    handler: Handler,
  ) {
    this.#network = network;
    this.#peer = peer;
    this.#time = time;
    this.#fate = fate;
    this.#handler = handler;
    this.#limit = (options.headersTimeout ?? 30_000) / 1000;
    this.#request = {
      method: options.method,
      path: options.path,
      headers: options.headers as Record<string, string>,
      body: typeof options.body === 'string' ? options.body : undefined,
    };
  }

  begin(): void {
    const { clock, counts } = this.#network;
    const { there, loseRequest, cutAfter, again, broken: state } = this.#fate;
    this.#handler.onConnect?.((reason) => this.#abandon(reason ?? new Error('aborted')));
    if (this.#over) return;
    // As undici does, which destroys the socket then: also of that the server hears.
    this.#cancelLimit = this.#time.after(this.#limit, () => this.#abandon(broken('UND_ERR_HEADERS_TIMEOUT')));
    if (state() === 'refuses') return void this.#time.after(there, () => this.#fail(broken('ECONNREFUSED')));
    if (loseRequest || state() === 'swallows') {
      counts.lost++;
      return;
    }
    clock.timer(there, () => this.#arrive());
    if (cutAfter !== null) clock.timer(cutAfter, () => this.#cut());
    if (again !== null) clock.timer(there + again, () => this.#arriveAgain());
  }

  #arrive(): void {
    const { clock } = this.#network;
    const server = this.#network.destination();
    if (!server || this.#fate.broken()) {
      clock.timer(
        this.#fate.back,
        this.#time.entrance(() => this.#fail(broken('ECONNREFUSED'))),
      );
      return;
    }
    this.#network.note(
      `${this.#peer} ${this.#request.method} ${this.#request.path} ${this.#request.body ?? ''}`,
    );
    this.#network.onArrival(this.#request);
    this.#call = server.request(this.#request);
    this.#call.answer.then(
      (answer) => this.#answered(answer),
      () =>
        clock.timer(
          this.#fate.back,
          this.#time.entrance(() => this.#fail(broken('ECONNRESET'))),
        ),
    );
  }

  /** A copy of the request, whose answer finds nobody. */
  #arriveAgain(): void {
    const server = this.#network.destination();
    if (!server) return;
    this.#network.counts.doubled++;
    this.#network.note(`${this.#peer} again ${this.#request.method} ${this.#request.path}`);
    this.#network.onArrival(this.#request);
    server.request(this.#request);
  }

  #answered(answer: WireAnswer): void {
    if (this.#fate.loseAnswer || this.#fate.broken()) {
      this.#network.counts.lost++;
      return;
    }
    this.#network.clock.timer(
      this.#fate.back,
      this.#time.entrance(() => this.#deliver(answer)),
    );
  }

  #deliver({ status, headers, body }: WireAnswer): void {
    if (!this.#end()) return;
    this.#network.note(`${this.#peer} got ${status} ${this.#request.path} ${body}`);
    if (status < 400) {
      this.#network.counts.acknowledged++;
      const { method, path, body: sent = '{}' } = this.#request;
      this.#network.onAcknowledged({ peer: this.#peer, method, path, body: sent, reply: JSON.parse(body) });
    } else this.#network.counts.refused++;
    const raw = headers.flat().map((text) => Buffer.from(text));
    this.#handler.onHeaders?.(status, raw, () => {}, '');
    this.#handler.onData?.(Buffer.from(body));
    this.#handler.onComplete?.([]);
  }

  #cut(): void {
    if (this.#over) return;
    this.#network.counts.cut++;
    this.#call?.hangUp();
    this.#time.entrance(() => this.#fail(broken('ECONNRESET')))();
  }

  /** The client gives up by itself; the server hears of it a moment later. */
  #abandon(reason: Error): void {
    this.#fail(reason);
    this.#network.clock.timer(this.#fate.there, () => this.#call?.hangUp());
  }

  #fail(fault: Error): void {
    if (this.#end()) this.#handler.onError?.(fault);
  }

  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#cancelLimit();
    return true;
  }
}
