import { setImmediate } from 'node:timers/promises';
import type { Inspected, InspectionSource } from '../../gateway/backend.ts';
import type { Message, MessageOf, MessageType, ReplyOf } from '../../gateway/messages.ts';
import { ClusterError } from '../../machines/errors.ts';
import type { Core, DeadlineKey } from './core.ts';
import { fetchNeeds, NOTHING_FETCHED } from './fetch.ts';
import { giveUp } from './give-up.ts';
import { grant } from './grant.ts';
import type { Inspectable } from './inspection.ts';
import { draining, isStoreFault, type Letter, overloaded } from './letter.ts';
import { renew } from './life.ts';
import { Outage } from './outage.ts';
import { passDeadline } from './passing.ts';
import { type Batch, type MessageLetter, Pipeline } from './pipeline.ts';
import { queueVariants } from './queue-variants.ts';
import { recover } from './recovery.ts';
import { queueRefits } from './refits.ts';
import { Pins } from './registry.ts';
import { ROUTES } from './routes.ts';
import { Self } from './self.ts';
import { inSteps } from './steps.ts';
import { Turn } from './turn.ts';
import { type Fetched, PARKED, type Verb } from './verb.ts';
import { VERBS } from './verbs/index.ts';

/** Letters that are handled without a break: some milliseconds. */
const AT_ONCE = 50;

/** Whether a full mailbox may refuse it. Of heartbeats and results there are no more than leases; they always fit. */
const mayBeTurnedAway = (type: MessageType): boolean => VERBS[type].whenStoreFails === undefined;

/** Seconds after which a turn that grants leases is no longer taken for a moment. */
const SLOW_COMMIT = 1;

/**
 * The supervisor actor: a mailbox drained in turns. A turn takes every waiting letter, sends events to
 * actors, and commits all changed rows and all events in one transaction; only then is anybody answered and
 * anything published.
 */
export class Supervisor implements InspectionSource {
  readonly #core: Core;
  readonly #self: Self;
  readonly #pipeline: Pipeline;
  readonly #outage: Outage;

  constructor(core: Core) {
    this.#core = core;
    this.#self = new Self(core);
    this.#pipeline = new Pipeline({
      begin: (earlier) => new Turn(core, ROUTES, earlier),
      handle: (batch, letters) => this.#handle(batch, letters),
      commit: (batch) => this.#commit(batch),
      accept: (batch) => this.#accept(batch),
      answer: (batch) => this.#answer(batch),
      failed: (batch, fault) => this.#failed(batch, fault),
    });
    this.#outage = new Outage(core, this.#self, this.#pipeline);
  }

  /** One of `recovering`, `serving`, `degraded`, `draining`, `stopped`. */
  get state(): string {
    return this.#self.state;
  }

  /** Replays the store; messages may come once this resolves. */
  async start(): Promise<void> {
    await recover(new Turn(this.#core, ROUTES));
    this.#self.tell({ type: 'RECOVERED' });
    for (const job of this.#core.wishes.jobs()) this.#core.goOn(job);
    // For some of what waits, nobody may have been left when the server went down.
    if (this.#core.demands.size > 0) this.#pipeline.post({ kind: 'wake' });
  }

  /** Stops granting leases, answers who waits, commits what is in the mailbox. Idempotent. */
  async stop(): Promise<void> {
    this.#self.tell({ type: 'DRAIN' });
    this.#core.parking.stop();
    this.#core.deadlines.stop();
    this.#core.waits.stop();
    this.#outage.stop();
    this.#core.wishes.answerAll();
    await this.#pipeline.idle();
    // Requests that were in the mailbox and would wait now.
    this.#core.parking.stop();
    this.#core.wishes.answerAll();
    this.#self.tell({ type: 'DRAINED' });
  }

  /** Resolves when the mailbox is empty and nothing is being written. */
  idle(): Promise<void> {
    return this.#pipeline.idle();
  }

  /** Null when nothing goes on but, perhaps, the writing of a turn; else resolves when that is so. */
  get busy(): Promise<void> | null {
    return this.#pipeline.busy;
  }

  /** Puts a message into the mailbox; resolves with its answer once that is durable. */
  send<T extends MessageType>(message: MessageOf<T>): Promise<ReplyOf<T>> {
    return new Promise((resolve, reject) => {
      if (!this.#admits(message.type)) {
        reject(draining());
        return;
      }
      if (this.#pipeline.waiting >= this.#core.settings.maxWaiting && mayBeTurnedAway(message.type)) {
        reject(overloaded());
        return;
      }
      const arrived = this.#core.clock.monotonic();
      this.#pipeline.post({
        kind: 'message',
        message: message as unknown as Message,
        resolve: resolve as (reply: unknown) => void,
        reject,
        arrived,
      });
    });
  }

  /** What waits is looked at anew. */
  wake(): void {
    if (this.state === 'serving') this.#pipeline.post({ kind: 'wake' });
  }

  /** A deadline has passed; what follows from it is a part of the next turn. */
  deadlinePassed(key: DeadlineKey): void {
    if (this.state === 'serving' || this.state === 'degraded') this.#pipeline.post({ kind: 'deadline', key });
  }

  /** Between two turns, what is in memory is what is committed: a watcher that begins there misses nothing. */
  watch(
    actorId: string | undefined,
    listener: (messages: readonly Inspected[]) => void,
  ): Promise<() => void> {
    const { registry, inspection, clock } = this.#core;
    return this.#pipeline.visit(async () => {
      const pins = new Pins();
      try {
        if (actorId !== undefined) {
          const ids = [actorId];
          await registry.fetch(pins, { jobs: ids, tasks: ids, workers: ids });
        }
        return inspection.watch(actorId, listener, this.#present(actorId), clock.now());
      } finally {
        registry.letGo(pins);
      }
    });
  }

  #present(actorId: string | undefined): Inspectable[] {
    const { registry } = this.#core;
    if (actorId === undefined) return [this.#self, ...registry.inMotion()];
    const found = actorId === this.#self.id ? this.#self : registry.find(actorId);
    if (!found) throw ClusterError.unknown('actor', actorId);
    return [found];
  }

  #admits(type: MessageType): boolean {
    if (this.state === 'serving' || this.state === 'degraded') return true;
    // While draining, what is under way is still taken; new work is not handed out.
    return this.state === 'draining' && type !== 'lease';
  }

  async #handle(batch: Batch, letters: readonly Letter[]): Promise<void> {
    const messages = letters.flatMap((letter) => (letter.kind === 'message' ? [letter.message] : []));
    const fetched = await fetchNeeds(batch.turn, messages);
    for (const [i, letter] of letters.entries()) {
      // Many reports may come in one request; the event loop serves others in between.
      if (i > 0 && i % AT_ONCE === 0) await setImmediate();
      const slow = this.#handleOne(batch, letter, fetched);
      if (slow) await slow;
    }
    await queueVariants(batch.turn);
    await queueRefits(batch.turn);
    const isMore = this.state === 'serving' && (await grant(batch.turn));
    // Who was not looked at yet does not wait in vain.
    if (!isMore) this.#core.parking.matched();
    if (this.state !== 'serving') return;
    const gaveUp = await giveUp(batch.turn);
    const isFollowed = batch.turn.selecting.size > 0;
    await queueRefits(batch.turn);
    if (gaveUp || isFollowed || isMore) batch.turn.afterCommit(() => this.#pipeline.post({ kind: 'wake' }));
  }

  /** A promise where the message takes long; nothing else is handled before it is done. */
  #handleOne({ turn, told }: Batch, letter: Letter, fetched: Fetched): Promise<void> | undefined {
    if (letter.kind === 'wake') {
      turn.queuedAny = true;
      turn.judge = true;
      return undefined;
    }
    if (letter.kind === 'handed_out') {
      for (const { id, attempt } of letter.leases) {
        const task = this.#core.registry.tasks.get(id);
        if (task?.row.status === 'leased' && task.row.attempt === attempt) renew(turn, task);
      }
      return undefined;
    }
    if (letter.kind === 'deadline') return passDeadline(turn, letter.key);
    const verb = VERBS[letter.message.type] as Verb<MessageType>;
    const accepted = (reply: unknown) => {
      if (reply !== PARKED) told.push({ letter, reply });
    };
    const refused = (refusal: unknown) => {
      if (!(refusal instanceof ClusterError)) throw refusal;
      told.push({ letter, refusal });
    };
    try {
      const { resolve: answer, reject: refuse } = letter;
      const reply = verb.run(letter.message as never, { turn, fetched, answer, refuse });
      if (reply instanceof Promise) return reply.then(accepted, refused);
      accepted(reply);
    } catch (refusal) {
      refused(refusal);
    }
    return undefined;
  }

  async #commit({ turn }: Batch): Promise<void> {
    if (!turn.isEmpty) await this.#core.store.commit(turn.seal().changes);
  }

  #accept({ turn }: Batch): void {
    turn.accept();
    if (turn.sealed && this.state === 'degraded') this.#outage.end();
    this.#giveFullTime(turn);
  }

  /** The first period of a lease counts from when it is handed out, however long that took to become durable. */
  #giveFullTime({ leased, begunAt }: Turn): void {
    if (leased.size === 0 || this.#core.hearing.monotonic() - begunAt < SLOW_COMMIT) return;
    const leases = [...leased].map(({ id, row }) => ({ id, attempt: row.attempt }));
    this.#pipeline.post({ kind: 'handed_out', leases });
  }

  #answer({ turn, told }: Batch): void {
    for (const { letter, reply, refusal } of told) {
      if (refusal) letter.reject(refusal);
      else letter.resolve(reply);
    }
    for (const { parked, tasks, handedOut } of turn.grants) {
      parked.answer(tasks, () => {
        for (const tell of handedOut) tell();
      });
    }
    for (const say of turn.toSay) say();
    this.#core.events.publish(turn.events);
    if (turn.recording) this.#core.inspection.publish(turn.recording);
    void inSteps(this.#core.registry.lettingGo(turn.pins));
  }

  /** Nothing of the turn happened. Is the store at fault, or one of the messages? */
  async #failed(batch: Batch, fault: unknown): Promise<'given up' | 'try each'> {
    if (isStoreFault(fault)) {
      await this.#answerFromMemory(this.#outage.begin(fault as Error, batch.letters));
      return 'given up';
    }
    const [letter, ...others] = batch.letters;
    if (others.length > 0) return 'try each';
    if (letter?.kind === 'deadline')
      this.#core.deadlines.set(
        letter.key,
        this.#core.hearing.monotonic() + this.#core.settings.probeInterval,
      );
    this.#core.log.error({ err: fault }, 'a message could not be handled');
    if (letter?.kind === 'message')
      letter.reject(new ClusterError('internal', 'the server could not handle this request'));
    return 'given up';
  }

  /** Handles once more what writes nothing; what the turn that failed had made of it has been undone. */
  async #answerFromMemory(letters: readonly MessageLetter[]): Promise<void> {
    if (letters.length === 0) return;
    const batch: Batch = { turn: new Turn(this.#core, ROUTES, null, true), letters: [...letters], told: [] };
    const messages = letters.map(({ message }) => message);
    // A store that cannot commit can mostly be read. Where it cannot, what is in memory is known.
    const fetched = await fetchNeeds(batch.turn, messages).catch(() => NOTHING_FETCHED);
    for (const letter of letters) this.#handleOne(batch, letter, fetched);
    batch.turn.accept();
    this.#answer(batch);
  }
}
