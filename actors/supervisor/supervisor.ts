import type { Message, MessageOf, MessageType, ReplyOf } from '../../gateway/messages.ts';
import type { Inspected, InspectionSource } from '../../gateway/ports.ts';
import { ClusterError } from '../../machines/errors.ts';
import { beforeOf, follow } from './aftermath.ts';
import type { Core, DeadlineKey } from './core.ts';
import { passDeadline } from './deadline-verbs.ts';
import { fetchNeeds } from './fetch.ts';
import { grant } from './grant.ts';
import type { Inspectable } from './inspection.ts';
import { draining, isStoreFault, type Letter, storeUnavailable } from './letter.ts';
import { recover } from './recovery.ts';
import { Self } from './self.ts';
import { Turn } from './turn.ts';
import { After, type Fetched, PARKED, type Verb } from './verb.ts';
import { VERBS } from './verbs/index.ts';

type MessageLetter = Extract<Letter, { kind: 'message' }>;
type Told = { letter: MessageLetter; reply?: unknown; refusal?: ClusterError };

/** Most letters in one turn, which bounds how long the first of them waits for the last. */
const TURN_LIMIT = 2000;

/**
 * The supervisor actor: a mailbox drained in turns. A turn takes every waiting letter, sends events to
 * actors, and commits all changed rows and all events in one transaction; only then is anybody answered and
 * anything published. While one turn is being flushed the next one fills: group commit without a timer.
 */
export class Supervisor implements InspectionSource {
  readonly #core: Core;
  readonly #self: Self;
  #mailbox: Letter[] = [];
  #running: Promise<void> | null = null;
  /** What waits for a moment between two turns. */
  #visits: (() => Promise<void>)[] = [];
  #cancelProbe: (() => void) | null = null;
  /** Reports that wait for the store to work again. */
  #patient: MessageLetter[] = [];

  constructor(core: Core) {
    this.#core = core;
    this.#self = new Self(core);
  }

  /** One of `recovering`, `serving`, `degraded`, `draining`, `stopped`. */
  get state(): string {
    return this.#self.state;
  }

  /** Replays the store; messages may come once this resolves. */
  async start(): Promise<void> {
    await recover(this.#core);
    this.#self.tell({ type: 'RECOVERED' });
  }

  /** Stops granting leases, answers who waits, commits what is in the mailbox. Idempotent. */
  async stop(): Promise<void> {
    this.#self.tell({ type: 'DRAIN' });
    this.#core.parking.stop();
    this.#core.deadlines.stop();
    this.#cancelProbe?.();
    for (const letter of this.#patient.splice(0)) letter.reject(storeUnavailable());
    while (this.#running) await this.#running;
    this.#self.tell({ type: 'DRAINED' });
  }

  /** Puts a message into the mailbox; resolves with its answer once that is durable. */
  send<T extends MessageType>(message: MessageOf<T>): Promise<ReplyOf<T>> {
    return new Promise((resolve, reject) => {
      if (!this.#admits(message.type)) {
        reject(draining());
        return;
      }
      const arrived = this.#core.clock.monotonic();
      this.#post({
        kind: 'message',
        message: message as unknown as Message,
        resolve: resolve as (reply: unknown) => void,
        reject,
        arrived,
      });
    });
  }

  /** A deadline has passed; what follows from it is a part of the next turn. */
  deadlinePassed(key: DeadlineKey): void {
    if (this.state === 'serving' || this.state === 'degraded') this.#post({ kind: 'deadline', key });
  }

  /** Between two turns, what is in memory is what is committed: a watcher that begins there misses nothing. */
  watch(
    actorId: string | undefined,
    listener: (messages: readonly Inspected[]) => void,
  ): Promise<() => void> {
    const { registry, inspection, clock } = this.#core;
    return this.#between(async () => {
      if (actorId !== undefined) await registry.fetch({ jobs: [actorId], tasks: [actorId] });
      const present = this.#present(actorId);
      const stop = inspection.watch(actorId, listener, present, clock.now());
      registry.letGo({ jobs: [], tasks: [] });
      return stop;
    });
  }

  #present(actorId: string | undefined): Inspectable[] {
    const { registry } = this.#core;
    if (actorId === undefined) return [this.#self, ...registry.inMotion()];
    const found = actorId === this.#self.id ? this.#self : registry.find(actorId);
    if (!found) throw ClusterError.unknown('actor', actorId);
    return [found];
  }

  #between<T>(visit: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#visits.push(() => visit().then(resolve, reject));
      this.#running ??= this.#drain();
    });
  }

  #admits(type: MessageType): boolean {
    if (this.state === 'serving' || this.state === 'degraded') return true;
    // While draining, what is under way is still taken; new work is not handed out.
    return this.state === 'draining' && type !== 'lease';
  }

  #post(letter: Letter): void {
    this.#mailbox.push(letter);
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // Lets everything that arrived in the same tick of the event loop share the first turn.
    await Promise.resolve();
    while (this.#mailbox.length + this.#visits.length > 0) {
      for (const visit of this.#visits.splice(0)) await visit();
      if (this.#mailbox.length === 0) continue;
      const letters = this.#mailbox.splice(0, TURN_LIMIT);
      await this.#turn(letters);
    }
    // In the same step as the look at the empty mailbox, so that no letter falls in between.
    this.#running = null;
  }

  async #turn(letters: Letter[]): Promise<void> {
    const turn = new Turn(this.#core);
    const told: Told[] = [];
    try {
      const messages = letters.flatMap((letter) => (letter.kind === 'message' ? [letter.message] : []));
      const fetched = await fetchNeeds(turn, messages);
      for (const letter of letters) this.#handle(turn, letter, fetched, told);
      if (this.state === 'serving') await grant(turn);
      if (!turn.isEmpty) await this.#core.store.commit(turn.changes());
    } catch (fault) {
      turn.rollback();
      this.#core.registry.letGo(turn);
      await this.#recoverFrom(fault, letters, told);
      return;
    }
    this.#settle(turn, told);
  }

  #handle(turn: Turn, letter: Letter, fetched: Fetched, told: Told[]): void {
    if (letter.kind === 'wake') {
      turn.queuedAny = true;
      return;
    }
    if (letter.kind === 'deadline') {
      passDeadline(turn, letter.key);
      return;
    }
    const verb = VERBS[letter.message.type] as Verb<MessageType>;
    try {
      const reply = verb.run(letter.message as never, { turn, fetched, answer: letter.resolve });
      if (reply !== PARKED) told.push({ letter, reply });
    } catch (refusal) {
      if (!(refusal instanceof ClusterError)) throw refusal;
      told.push({ letter, refusal });
    }
  }

  /** The turn is durable: it becomes the truth in memory, then everybody hears of it. */
  #settle(turn: Turn, told: Told[]): void {
    const before = beforeOf(turn);
    if (!turn.isEmpty) {
      turn.accept();
      if (this.state === 'degraded') this.#workAgain();
    }
    follow(this.#core, before);
    for (const { letter, reply, refusal } of told) {
      if (refusal) letter.reject(refusal);
      else if (reply instanceof After) reply.read().then(letter.resolve, letter.reject);
      else letter.resolve(reply);
    }
    for (const { parked, tasks } of turn.grants) parked.answer(tasks);
    this.#core.publish(turn.events);
    if (turn.recording) this.#core.inspection.publish(turn.recording);
    this.#core.registry.letGo(turn);
  }

  /** Nothing of the turn happened. Is the store at fault, or one of the messages? */
  async #recoverFrom(fault: unknown, letters: Letter[], told: Told[]): Promise<void> {
    if (isStoreFault(fault)) {
      this.#degrade(fault as Error);
      this.#refuse(letters, told);
      return;
    }
    if (letters.length === 1) {
      this.#core.log.error({ err: fault }, 'a message could not be handled');
      const [letter] = letters;
      if (letter?.kind === 'message')
        letter.reject(new ClusterError('internal', 'the server could not handle this request'));
      return;
    }
    // One message's fault must not fail its neighbours: each gets a turn of its own.
    for (const letter of letters) await this.#turn([letter]);
  }

  #degrade(fault: Error): void {
    if (this.state !== 'degraded') this.#core.log.error({ err: fault }, 'the store cannot commit');
    this.#self.tell({ type: 'COMMIT_FAILED', fault: fault.message });
    this.#probeLater();
  }

  #refuse(letters: Letter[], told: Told[]): void {
    const now = this.#core.clock.monotonic();
    const answers = new Map(told.map((entry) => [entry.letter, entry]));
    for (const letter of letters) {
      if (letter.kind !== 'message') continue;
      const policy = (VERBS[letter.message.type] as Verb<MessageType>).whenStoreFails ?? 'refuse';
      const answer = answers.get(letter);
      if (policy === 'answer' && answer && !answer.refusal) letter.resolve(answer.reply);
      else if (
        policy === 'wait' &&
        now - letter.arrived < this.#core.settings.reportPatience &&
        this.state === 'degraded'
      ) {
        this.#patient.push(letter);
      } else letter.reject(storeUnavailable());
    }
  }

  #probeLater(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = this.#core.clock.timer(this.#core.settings.probeInterval, () => void this.#probe());
  }

  /** While degraded, tries the store now and then, so that waiting reports go on without a new message. */
  async #probe(): Promise<void> {
    if (this.state !== 'degraded') return;
    while (this.#running) await this.#running;
    try {
      await this.#core.store.probe();
      this.#workAgain();
    } catch {
      this.#giveUpOld();
      if (this.state === 'degraded') this.#probeLater();
    }
  }

  #workAgain(): void {
    this.#cancelProbe?.();
    this.#core.log.info('the store commits again');
    this.#self.tell({ type: 'COMMITTED' });
    for (const letter of this.#patient.splice(0)) this.#post(letter);
    this.#post({ kind: 'wake' });
  }

  #giveUpOld(): void {
    const now = this.#core.clock.monotonic();
    const patience = this.#core.settings.reportPatience;
    for (const letter of this.#patient.filter((waiting) => now - waiting.arrived >= patience)) {
      letter.reject(storeUnavailable());
    }
    this.#patient = this.#patient.filter((waiting) => now - waiting.arrived < patience);
  }
}
