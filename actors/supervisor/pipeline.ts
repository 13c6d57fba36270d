import type { ClusterError } from '../../machines/errors.ts';
import type { Letter } from './letter.ts';
import type { Turn } from './turn.ts';

export type MessageLetter = Extract<Letter, { kind: 'message' }>;
/** What a message is answered once its turn is durable. */
export type Told = { letter: MessageLetter; reply?: unknown; refusal?: ClusterError };

/** A turn with the letters that it takes. */
export interface Batch {
  readonly turn: Turn;
  readonly letters: Letter[];
  readonly told: Told[];
}

/** What is done with the letters. */
export interface Stages {
  /** @param earlier the turn that is being written */
  begin(earlier?: Turn): Turn;
  /** Handles letters as a part of the batch's turn, which nobody sees yet. */
  handle(batch: Batch, letters: readonly Letter[]): Promise<void>;
  /** Makes the turn durable; when it rejects, nothing happened. */
  commit(batch: Batch): Promise<void>;
  /** The turn is durable: it becomes the truth in memory, from where the next one is written. */
  accept(batch: Batch): void;
  /** Everybody hears of the accepted turn. */
  answer(batch: Batch): void;
  /** The batch failed and its turn has been undone. With more than one letter, each is then tried by itself. */
  failed(batch: Batch, fault: unknown): Promise<'given up' | 'try each'>;
}

/** Most letters in one turn, which bounds how long the first of them waits for the last. */
const TURN_LIMIT = 2000;

const aMoment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A batch that is being made durable. `fault` is set when it could not be. */
interface Flight {
  readonly batch: Batch;
  readonly landing: Promise<void>;
  fault?: unknown;
}

/**
 * The mailbox, drained in turns of which two may be under way: while one is being written, letters that arrive are
 * handled as a part of the next, which is on its way as soon as the first is durable, before that one's letters are
 * answered. So commits gather what comes meanwhile without a timer, and neither the disk nor the processor waits for
 * the other. What was not written is undone, the later turn first, and nobody has heard of it.
 */
export class Pipeline {
  readonly #stages: Stages;
  #mailbox: Letter[] = [];
  /** What waits for a moment when nothing is under way. */
  readonly #visits: (() => Promise<void>)[] = [];
  #open: Batch | null = null;
  /** Whether letters are just being handled as a part of the open turn. */
  #handling = false;
  #flight: Flight | null = null;
  #running: Promise<void> | null = null;
  #arrived: (() => void) | null = null;
  /** Whether it waits for a turn that is being written, or for a letter, and has nothing else to do. */
  #resting = false;
  #onRest: (() => void)[] = [];

  constructor(stages: Stages) {
    this.#stages = stages;
  }

  /** Letters that are not on their way to the disk yet. */
  get waiting(): number {
    return this.#mailbox.length + (this.#open?.letters.length ?? 0);
  }

  post(letter: Letter): void {
    this.#mailbox.push(letter);
    this.#stir();
  }

  /** Runs something between two turns, when what is in memory is what is committed. */
  visit<T>(visit: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#visits.push(() => visit().then(resolve, reject));
      this.#stir();
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
    if (this.#running === null || this.#resting) return null;
    return new Promise((resolve) => this.#onRest.push(resolve));
  }

  #stir(): void {
    if (this.#arrived) {
      this.#resting = false;
      this.#arrived();
    }
    this.#running ??= this.#drain();
  }

  get #hasWork(): boolean {
    return this.#mailbox.length + this.#visits.length > 0 || this.#open !== null || this.#flight !== null;
  }

  async #drain(): Promise<void> {
    while (this.#hasWork) {
      // What arrives in the same round of the event loop is handled together.
      await aMoment();
      if (this.#flight?.fault !== undefined) await this.#crash(this.#flight);
      await this.#take();
      if (this.#flight) await this.#somethingHappens(this.#flight);
      else if (this.#open) this.#launch(this.#open);
      else await this.#receive();
    }
    // In the same step as the look at the empty mailbox, so that no letter falls in between.
    this.#running = null;
    this.#tellRest();
  }

  #tellRest(): void {
    for (const tell of this.#onRest.splice(0)) tell();
  }

  /** Handles what is in the mailbox as a part of the open turn. */
  async #take(): Promise<void> {
    if (this.#visits.length > 0) return;
    const letters = this.#mailbox.splice(0, TURN_LIMIT - (this.#open?.letters.length ?? 0));
    if (letters.length === 0) return;
    this.#open ??= this.#newBatch();
    const batch = this.#open;
    batch.letters.push(...letters);
    this.#handling = true;
    try {
      await this.#stages.handle(batch, letters);
    } catch (fault) {
      this.#open = null;
      batch.turn.rollback();
      // The turn before it ends first, however it ends.
      const flight = this.#flight;
      await flight?.landing;
      if (flight?.fault !== undefined) await this.#crash(flight);
      await this.#fail(batch, fault);
    } finally {
      this.#handling = false;
    }
  }

  #newBatch(): Batch {
    return { turn: this.#stages.begin(this.#flight?.batch.turn), letters: [], told: [] };
  }

  /** Until the flight lands, or there is a letter that can be handled meanwhile. */
  async #somethingHappens({ landing, fault }: Flight): Promise<void> {
    const full = (this.#open?.letters.length ?? 0) >= TURN_LIMIT;
    if (fault !== undefined || (this.#mailbox.length > 0 && !full && this.#visits.length === 0)) return;
    const arrival = new Promise<void>((resolve) => {
      if (!full && this.#visits.length === 0) this.#arrived = resolve;
    });
    this.#resting = true;
    this.#tellRest();
    await Promise.race([landing, arrival]);
    this.#resting = false;
    this.#arrived = null;
  }

  #launch(batch: Batch): void {
    this.#open = null;
    const flight: { -readonly [K in keyof Flight]: Flight[K] } = { batch, landing: Promise.resolve() };
    this.#flight = flight;
    flight.landing = this.#fly(flight);
  }

  async #fly(flight: Flight): Promise<void> {
    const { commit, accept, answer } = this.#stages;
    try {
      await commit(flight.batch);
    } catch (fault) {
      flight.fault = fault;
      return;
    }
    accept(flight.batch);
    this.#flight = null;
    // The disk goes on while the letters are answered.
    if (this.#open && !this.#handling) this.#launch(this.#open);
    answer(flight.batch);
  }

  /** The turn was not written: it is undone, after what went on from it. */
  async #crash(flight: Flight): Promise<void> {
    this.#flight = null;
    if (this.#open) {
      this.#open.turn.rollback();
      this.#mailbox.unshift(...this.#open.letters);
      this.#open = null;
    }
    flight.batch.turn.rollback();
    await this.#fail(flight.batch, flight.fault);
  }

  async #fail(batch: Batch, fault: unknown): Promise<void> {
    if ((await this.#stages.failed(batch, fault)) === 'given up') return;
    // One message's fault must not fail its neighbours: each gets a turn of its own.
    for (const letter of batch.letters) await this.#alone(letter);
  }

  async #alone(letter: Letter): Promise<void> {
    const batch: Batch = { turn: this.#stages.begin(), letters: [letter], told: [] };
    try {
      await this.#stages.handle(batch, batch.letters);
      await this.#stages.commit(batch);
    } catch (fault) {
      batch.turn.rollback();
      await this.#stages.failed(batch, fault);
      return;
    }
    this.#stages.accept(batch);
    this.#stages.answer(batch);
  }

  async #receive(): Promise<void> {
    for (const visit of this.#visits.splice(0)) await visit();
  }
}
