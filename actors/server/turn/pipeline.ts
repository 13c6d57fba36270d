import type { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Envelope } from './envelope.ts';
import type { Turn } from './turn.ts';

export type MessageEnvelope = Extract<Envelope, { kind: 'message' }>;
/** What a message is answered once its turn is durable. */
export type Reply = { envelope: MessageEnvelope; reply?: unknown; refusal?: ClusterError };

/** A turn with the envelopes that it takes. */
export interface Batch {
  readonly turn: Turn;
  readonly envelopes: Envelope[];
  readonly replies: Reply[];
}

/** What is done with the envelopes. */
export interface Stages {
  /** @param earlier the turn that is being written */
  begin(earlier?: Turn): Turn;
  /** Handles envelopes as a part of the batch's turn, which nobody sees yet. */
  handle(batch: Batch, envelopes: readonly Envelope[]): Promise<void>;
  /** Makes the turn durable; when it rejects, nothing happened. */
  commit(batch: Batch): Promise<void>;
  /** The turn is durable: it becomes the truth in memory, from where the next one is written. */
  accept(batch: Batch): void;
  /** Answers and publishes what the accepted turn did. */
  answer(batch: Batch): void;
  /** The batch failed and its turn has been undone. With more than one envelope, each is then tried by itself. */
  failed(batch: Batch, fault: unknown): Promise<'given up' | 'try each'>;
}

/** Most envelopes in one turn, which bounds how long the first of them waits for the last. */
const TURN_LIMIT = 2000;

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A batch that is being made durable. `fault` is set when it could not be. */
interface InFlightCommit {
  readonly batch: Batch;
  readonly done: Promise<void>;
  fault?: unknown;
}

/**
 * The mailbox, drained in turns of which two may be under way: while one is being written, envelopes that arrive are
 * handled as a part of the next, which is on its way as soon as the first is durable, before that one's envelopes are
 * answered. So commits gather what comes meanwhile without a timer, and neither the disk nor the processor waits for
 * the other. What was not written is undone, the later turn first, and nobody has heard of it.
 */
export class Pipeline {
  readonly #stages: Stages;
  #mailbox: Envelope[] = [];
  /** What is to run between two turns. */
  readonly #betweenTurns: (() => Promise<void>)[] = [];
  #open: Batch | null = null;
  /** Whether envelopes are just being handled as a part of the open turn. */
  #handling = false;
  #inFlight: InFlightCommit | null = null;
  #running: Promise<void> | null = null;
  #onArrival: (() => void) | null = null;
  /** Whether it waits for a turn that is being written, or for a envelope, and has nothing else to do. */
  #idle = false;
  #onIdle: (() => void)[] = [];

  constructor(stages: Stages) {
    this.#stages = stages;
  }

  /** Envelopes that are not on their way to the disk yet. */
  get waiting(): number {
    return this.#mailbox.length + (this.#open?.envelopes.length ?? 0);
  }

  enqueue(envelope: Envelope): void {
    this.#mailbox.push(envelope);
    this.#wake();
  }

  /** Runs something between two turns, when what is in memory is what is committed. */
  betweenTurns<T>(betweenTurns: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#betweenTurns.push(() => betweenTurns().then(resolve, reject));
      this.#wake();
    });
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /**
   * Null when there is nothing to do but, perhaps, to wait for a turn that is being written; else it resolves when
   * that is so.
   */
  get busy(): Promise<void> | null {
    if (this.#running === null || this.#idle) return null;
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #wake(): void {
    if (this.#onArrival) {
      this.#idle = false;
      this.#onArrival();
    }
    this.#running ??= this.#drain();
  }

  get #hasWork(): boolean {
    return (
      this.#mailbox.length + this.#betweenTurns.length > 0 || this.#open !== null || this.#inFlight !== null
    );
  }

  async #drain(): Promise<void> {
    while (this.#hasWork) {
      // What arrives in the same round of the event loop is handled together.
      await nextTick();
      if (this.#inFlight?.fault !== undefined) await this.#abort(this.#inFlight);
      await this.#handleMailbox();
      if (this.#inFlight) await this.#waitForWork(this.#inFlight);
      else if (this.#open) this.#startCommit(this.#open);
      else await this.#runBetweenTurns();
    }
    // In the same step as the look at the empty mailbox, so that no envelope falls in between.
    this.#running = null;
    this.#notifyIdle();
  }

  #notifyIdle(): void {
    for (const tell of this.#onIdle.splice(0)) tell();
  }

  /** Handles what is in the mailbox as a part of the open turn. */
  async #handleMailbox(): Promise<void> {
    if (this.#betweenTurns.length > 0) return;
    const envelopes = this.#mailbox.splice(0, TURN_LIMIT - (this.#open?.envelopes.length ?? 0));
    if (envelopes.length === 0) return;
    this.#open ??= this.#newBatch();
    const batch = this.#open;
    batch.envelopes.push(...envelopes);
    this.#handling = true;
    try {
      await this.#stages.handle(batch, envelopes);
    } catch (fault) {
      this.#open = null;
      batch.turn.rollback();
      // The turn before it ends first, however it ends.
      const inFlight = this.#inFlight;
      await inFlight?.done;
      if (inFlight?.fault !== undefined) await this.#abort(inFlight);
      await this.#fail(batch, fault);
    } finally {
      this.#handling = false;
    }
  }

  #newBatch(): Batch {
    return { turn: this.#stages.begin(this.#inFlight?.batch.turn), envelopes: [], replies: [] };
  }

  /** Until the commit is done, or there is an envelope that can be handled meanwhile. */
  async #waitForWork({ done, fault }: InFlightCommit): Promise<void> {
    const full = (this.#open?.envelopes.length ?? 0) >= TURN_LIMIT;
    if (fault !== undefined || (this.#mailbox.length > 0 && !full && this.#betweenTurns.length === 0)) return;
    const arrival = new Promise<void>((resolve) => {
      if (!full && this.#betweenTurns.length === 0) this.#onArrival = resolve;
    });
    this.#idle = true;
    this.#notifyIdle();
    await Promise.race([done, arrival]);
    this.#idle = false;
    this.#onArrival = null;
  }

  #startCommit(batch: Batch): void {
    this.#open = null;
    const inFlight: { -readonly [K in keyof InFlightCommit]: InFlightCommit[K] } = {
      batch,
      done: Promise.resolve(),
    };
    this.#inFlight = inFlight;
    inFlight.done = this.#commit(inFlight);
  }

  async #commit(inFlight: InFlightCommit): Promise<void> {
    const { commit, accept, answer } = this.#stages;
    try {
      await commit(inFlight.batch);
    } catch (fault) {
      inFlight.fault = fault;
      return;
    }
    accept(inFlight.batch);
    this.#inFlight = null;
    // The disk goes on while the envelopes are answered.
    if (this.#open && !this.#handling) this.#startCommit(this.#open);
    answer(inFlight.batch);
  }

  /** The turn was not written: it is undone, after what went on from it. */
  async #abort(inFlight: InFlightCommit): Promise<void> {
    this.#inFlight = null;
    if (this.#open) {
      this.#open.turn.rollback();
      this.#mailbox.unshift(...this.#open.envelopes);
      this.#open = null;
    }
    inFlight.batch.turn.rollback();
    await this.#fail(inFlight.batch, inFlight.fault);
  }

  async #fail(batch: Batch, fault: unknown): Promise<void> {
    if ((await this.#stages.failed(batch, fault)) === 'given up') return;
    // One message's fault must not fail its neighbours: each gets a turn of its own.
    for (const envelope of batch.envelopes) await this.#handleAlone(envelope);
  }

  async #handleAlone(envelope: Envelope): Promise<void> {
    const batch: Batch = { turn: this.#stages.begin(), envelopes: [envelope], replies: [] };
    try {
      await this.#stages.handle(batch, batch.envelopes);
      await this.#stages.commit(batch);
    } catch (fault) {
      batch.turn.rollback();
      await this.#stages.failed(batch, fault);
      return;
    }
    this.#stages.accept(batch);
    this.#stages.answer(batch);
  }

  async #runBetweenTurns(): Promise<void> {
    for (const betweenTurns of this.#betweenTurns.splice(0)) await betweenTurns();
  }
}
