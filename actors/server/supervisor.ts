import { setImmediate } from 'node:timers/promises';
import type { Inspected, InspectionSource } from '../../gateway/backend.ts';
import type { Message, MessageOf, MessageType, ReplyOf } from '../../gateway/messages.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import type { Core, DeadlineKey } from './core.ts';
import { EventBus } from './event-bus.ts';
import { deadlinePassed } from './handlers/deadline-passed.ts';
import { type Handler, type Preloaded, WAITING } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import { renew } from './handlers/liveness.ts';
import { answerAll } from './jobs/bulk-command.ts';
import { queueRefits } from './jobs/refits.ts';
import { queueVariants } from './jobs/variants.ts';
import { Outage } from './outage.ts';
import { NOTHING_PRELOADED, preload } from './preload.ts';
import { recover } from './recovery.ts';
import { References } from './runtime/actor-directory.ts';
import { comeBackLater } from './runtime/arm-deadlines.ts';
import { type Inspectable, Inspection } from './runtime/inspection.ts';
import { giveUp } from './scheduling/give-up.ts';
import { grant } from './scheduling/grant.ts';
import type { Changes } from './store/changes.ts';
import { SupervisorActor } from './supervisor-actor.ts';
import { changesOf } from './turn/changes-of.ts';
import {
  draining,
  isStoreFault,
  type MessageEnvelope,
  overloaded,
  storeUnavailable,
} from './turn/envelope.ts';
import { Mailbox } from './turn/mailbox.ts';
import type { OwnWork, Taken } from './turn/own-work.ts';
import { REACTIONS } from './turn/reaction-table.ts';
import { inSteps } from './turn/steps.ts';
import { Turn } from './turn/turn.ts';

/** Envelopes that are handled without a break: some milliseconds. */
const AT_ONCE = 50;

/**
 * Whether a full mailbox may refuse it. Heartbeats and results are bounded by workers and leases, so they are never
 * refused.
 */
const mayBeRefused = (type: MessageType): boolean => HANDLERS[type].whenStoreFails === undefined;

/** A turn with the envelopes that it takes, and what they are answered once it is durable. */
interface Batch {
  readonly turn: Turn;
  readonly envelopes: readonly Taken[];
  readonly replies: { envelope: MessageEnvelope; reply?: unknown; refusal?: ClusterError }[];
}

/**
 * The supervisor actor: a mailbox drained in turns. A turn takes the envelopes that wait, up to a limit, sends events
 * to actors, and commits all changed rows and all events in one transaction; only then is anybody answered and
 * anything published.
 */
export class Supervisor implements InspectionSource {
  /** Committed events, for the streams. */
  readonly events = new EventBus();
  readonly #core: Core;
  /** Who watches the actors. */
  readonly #inspection = new Inspection();
  readonly #actor: SupervisorActor;
  readonly #mailbox: Mailbox;
  readonly #outage: Outage;

  constructor(core: Core) {
    this.#core = core;
    this.#actor = new SupervisorActor(core.clock, this.#inspection);
    this.#mailbox = new Mailbox((envelopes) => this.#takeTurn(envelopes));
    this.#outage = new Outage(core, this.#actor, this.#mailbox);
  }

  /** One of `recovering`, `serving`, `degraded`, `draining`, `stopped`. */
  get state(): string {
    return this.#actor.state;
  }

  /** Replays the store; messages may come once this resolves. */
  async start(): Promise<void> {
    const turn = new Turn(this.#core, REACTIONS);
    await recover(turn);
    this.events.lastId = this.#core.sequences.event - 1;
    this.#actor.tell({ type: 'RECOVERED' });
    this.#goOn(turn);
    // Some queued tasks may have no worker left that could run them; wake, so that they are failed.
    if (this.#core.queue.exclusions.size > 0) this.#mailbox.enqueue({ kind: 'wake' });
  }

  /** Stops granting leases, answers who waits, commits what is in the mailbox. Idempotent. */
  async stop(): Promise<void> {
    this.#actor.tell({ type: 'DRAIN' });
    this.#core.longPolls.stop();
    this.#core.deadlines.stop();
    this.#core.waits.stop();
    this.#outage.stop();
    this.#core.store.endDoubt();
    answerAll(this.#core.directory.jobs.values());
    while (this.idle) await this.idle;
    // Requests that were in the mailbox and would wait now.
    this.#core.longPolls.stop();
    answerAll(this.#core.directory.jobs.values());
    this.#actor.tell({ type: 'DRAINED' });
  }

  /** Messages that no turn has taken yet. */
  get waiting(): number {
    return this.#mailbox.size;
  }

  /** Null when the mailbox is empty and nothing is being written; else resolves when that is so. */
  get idle(): Promise<void> | null {
    return this.#mailbox.idle;
  }

  /** Puts a message into the mailbox; resolves with its answer once that is durable. */
  send<T extends MessageType>(message: MessageOf<T>): Promise<ReplyOf<T>> {
    return new Promise((resolve, reject) => {
      if (!this.#admits(message.type)) {
        reject(draining());
        return;
      }
      if (mayBeRefused(message.type) && this.#core.store.isInDoubt) {
        reject(storeUnavailable());
        return;
      }
      if (this.#mailbox.size >= this.#core.settings.maxWaiting && mayBeRefused(message.type)) {
        reject(overloaded());
        return;
      }
      const arrived = this.#core.clock.monotonic();
      const envelope: MessageEnvelope = {
        kind: 'message',
        message: message as unknown as Message,
        resolve: resolve as (reply: unknown) => void,
        reject,
        arrived,
      };
      if (HANDLERS[message.type].alone) void this.#mailbox.betweenTurns(() => this.#takeTurn([envelope]));
      else this.#mailbox.enqueue(envelope);
    });
  }

  /**
   * Does something of the server's own in a turn of its own, in which what is in memory is what is committed; resolves
   * once that is durable.
   * @throws ClusterError while the store does not commit, and when the server is going down
   */
  alone(work: (turn: Turn) => Promise<void>): Promise<void> {
    if (this.state === 'degraded') return Promise.reject(storeUnavailable());
    if (this.state !== 'serving') return Promise.reject(draining());
    return new Promise((resolve, reject) => {
      const envelope: OwnWork = { kind: 'work', work, resolve, reject };
      void this.#mailbox.betweenTurns(() => this.#takeTurn([envelope]));
    });
  }

  /** What waits is looked at anew. */
  wake(): void {
    if (this.state === 'serving') this.#mailbox.enqueue({ kind: 'wake' });
  }

  /** A deadline has passed; what follows from it is a part of the next turn. */
  deadlinePassed(key: DeadlineKey): void {
    if (this.#isServing) this.#mailbox.enqueue({ kind: 'deadline', key });
  }

  /** Between two turns, what is in memory is what is committed: a watcher that begins there misses nothing. */
  watch(
    actorId: string | undefined,
    listener: (messages: readonly Inspected[]) => void,
  ): Promise<() => void> {
    const { directory, clock } = this.#core;
    return this.#mailbox.betweenTurns(async () => {
      const references = new References();
      try {
        if (actorId !== undefined) {
          const ids = [actorId];
          await directory.fetch(references, { jobs: ids, tasks: ids, workers: ids });
        }
        return this.#inspection.watch(actorId, listener, this.#present(actorId), clock.now());
      } finally {
        directory.release(references);
      }
    });
  }

  #present(actorId: string | undefined): Inspectable[] {
    const { directory } = this.#core;
    if (actorId === undefined) return [this.#actor, ...directory.active()];
    const found = actorId === this.#actor.id ? this.#actor : directory.find(actorId);
    if (!found) throw ClusterError.unknown('actor', actorId);
    return [found];
  }

  /** Also while the store cannot commit. */
  get #isServing(): boolean {
    return this.state === 'serving' || this.state === 'degraded';
  }

  #admits(type: MessageType): boolean {
    if (this.#isServing) return true;
    // While draining, what is under way is still taken; new work is not handed out.
    return this.state === 'draining' && type !== 'lease';
  }

  /** One turn, from its envelopes to their answers. */
  async #takeTurn(envelopes: readonly Taken[]): Promise<void> {
    const turn = new Turn(this.#core, REACTIONS);
    turn.recording = this.#inspection.begin(turn.now);
    const batch: Batch = { turn, envelopes, replies: [] };
    try {
      await this.#handle(batch);
      if (!turn.isEmpty) await this.#commit(changesOf(turn));
    } catch (error) {
      turn.rollback();
      await this.#failed(envelopes, error);
      return;
    }
    // The first period of a lease counts from when it is handed out, however long that took to become durable.
    for (const task of turn.leased) renew(turn, task);
    turn.accept();
    if (!turn.isEmpty && this.state === 'degraded') this.#outage.end();
    this.#answer(batch);
  }

  async #handle(batch: Batch): Promise<void> {
    const { turn, envelopes } = batch;
    const messages = envelopes.flatMap((envelope) => (envelope.kind === 'message' ? [envelope.message] : []));
    const preloaded = await preload(turn, messages);
    for (const [i, envelope] of envelopes.entries()) {
      // Many reports may come in one request; the event loop serves others in between.
      if (i > 0 && i % AT_ONCE === 0) await setImmediate();
      const slow = this.#handleOne(batch, envelope, preloaded);
      if (slow) await slow;
    }
    await queueVariants(turn);
    await queueRefits(turn);
    const moreToGrant = this.state === 'serving' && (await grant(turn));
    // Requests that were not looked at yet keep waiting for the next turn.
    if (!moreToGrant) this.#core.longPolls.matched();
    if (this.state !== 'serving') return;
    const moreToGiveUp = await giveUp(turn);
    const moreToRefit = turn.selecting.size > 0;
    await queueRefits(turn);
    if (moreToGiveUp || moreToRefit || moreToGrant) turn.next.push({ kind: 'wake' });
  }

  /** A promise where the message takes long; nothing else is handled before it is done. */
  #handleOne({ turn, replies }: Batch, envelope: Taken, preloaded: Preloaded): Promise<void> | undefined {
    if (envelope.kind === 'wake') {
      turn.hasQueued = true;
      turn.reviewWaiting = true;
      return undefined;
    }
    if (envelope.kind === 'deadline') return deadlinePassed(turn, envelope.key);
    if (envelope.kind === 'work') {
      turn.afterCommit(envelope.resolve);
      return envelope.work(turn);
    }
    const handler = HANDLERS[envelope.message.type] as Handler<MessageType>;
    const accepted = (reply: unknown) => {
      if (reply !== WAITING) replies.push({ envelope, reply });
    };
    const refused = (refusal: unknown) => {
      if (!(refusal instanceof ClusterError)) throw refusal;
      replies.push({ envelope, refusal });
    };
    try {
      const { resolve: answer, reject: refuse } = envelope;
      const reply = handler.handle(envelope.message as never, { turn, preloaded, answer, refuse });
      if (reply instanceof Promise) return reply.then(accepted, refused);
      accepted(reply);
    } catch (refusal) {
      refused(refusal);
    }
    return undefined;
  }

  #commit(changes: Changes): Promise<void> {
    const { measures, store } = this.#core;
    return measures.commit(changes, () => store.commit(changes));
  }

  #goOn({ next }: Turn): void {
    if (this.#isServing) for (const envelope of next) this.#mailbox.enqueue(envelope);
  }

  #answer({ turn, replies }: Batch): void {
    for (const { envelope, reply, refusal } of replies) {
      if (refusal) envelope.reject(refusal);
      else envelope.resolve(reply);
    }
    for (const { waiting, tasks, handedOut } of turn.grants) {
      waiting.answer(tasks, () => {
        for (const giveBack of handedOut) giveBack();
      });
    }
    for (const say of turn.replies) say();
    this.#goOn(turn);
    this.events.publish(turn.events);
    if (turn.recording) this.#inspection.publish(turn.recording);
    void inSteps(this.#core.directory.releasing(turn.references));
  }

  /** Nothing of the turn happened. Is the store at fault, or one of the messages? */
  async #failed(envelopes: readonly Taken[], error: unknown): Promise<void> {
    if (isStoreFault(error)) {
      await this.#answerFromMemory(this.#outage.begin(error as Error, envelopes));
      return;
    }
    const [envelope, ...others] = envelopes;
    if (others.length > 0) {
      // One message's fault must not fail its neighbours: each gets a turn of its own.
      for (const alone of envelopes) await this.#takeTurn([alone]);
      return;
    }
    if (envelope?.kind === 'deadline') comeBackLater(this.#core, envelope.key);
    if (envelope?.kind === 'work') {
      envelope.reject(error);
      return;
    }
    this.#core.log.error({ err: error }, 'a message could not be handled');
    if (envelope?.kind === 'message')
      envelope.reject(new ClusterError('internal', 'the server could not handle this request'));
  }

  /** Handles once more what writes nothing; what the turn that failed had made of it has been undone. */
  async #answerFromMemory(envelopes: readonly MessageEnvelope[]): Promise<void> {
    if (envelopes.length === 0) return;
    const batch: Batch = { turn: new Turn(this.#core, REACTIONS, true), envelopes, replies: [] };
    const messages = envelopes.map(({ message }) => message);
    // A store that cannot commit can mostly be read. Where it cannot, what is in memory is known.
    const preloaded = await preload(batch.turn, messages).catch(() => NOTHING_PRELOADED);
    for (const envelope of envelopes) {
      const slow = this.#handleOne(batch, envelope, preloaded);
      if (slow) await slow;
    }
    batch.turn.accept();
    this.#answer(batch);
  }
}
