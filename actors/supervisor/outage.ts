import { dirname } from 'node:path';
import type { MessageType } from '../../gateway/messages.ts';
import { isDamage, wayOut } from '../store/damage.ts';
import type { Core } from './core.ts';
import { type Letter, storeUnavailable } from './letter.ts';
import type { MessageLetter } from './pipeline.ts';
import type { Self } from './self.ts';
import type { Verb } from './verb.ts';
import { VERBS } from './verbs/index.ts';

/** What the outage needs of the supervisor. */
interface Mailbox {
  post(letter: MessageLetter | { kind: 'wake' }): void;
  visit<T>(visit: () => Promise<T>): Promise<T>;
}

/**
 * The time in which the store cannot commit: who is refused, who waits, and how it is noticed that it works again,
 * which needs no new message and no restart.
 */
export class Outage {
  readonly #core: Core;
  readonly #self: Self;
  readonly #mailbox: Mailbox;
  #cancelProbe: (() => void) | null = null;
  /** Reports that wait for the store to work again. */
  #patient: MessageLetter[] = [];

  constructor(core: Core, self: Self, mailbox: Mailbox) {
    this.#core = core;
    this.#self = self;
    this.#mailbox = mailbox;
  }

  /**
   * The store could not commit a turn: nothing of it happened.
   * @returns what is answered all the same, from memory
   */
  begin(fault: Error, letters: readonly Letter[]): MessageLetter[] {
    if (this.#self.state !== 'degraded') {
      const help = isDamage(fault) ? `: it is damaged; ${wayOut(dirname(this.#core.store.path))}` : '';
      this.#core.log.error({ err: fault }, `the store cannot commit${help}`);
    }
    this.#self.tell({ type: 'COMMIT_FAILED', fault: fault.message });
    this.#probeLater();
    this.#core.wishes.answerAll();
    const { hearing, settings, deadlines } = this.#core;
    const fromMemory: MessageLetter[] = [];
    for (const letter of letters) {
      if (letter.kind === 'deadline') deadlines.set(letter.key, hearing.monotonic() + settings.probeInterval);
      if (letter.kind !== 'message') continue;
      const policy = (VERBS[letter.message.type] as Verb<MessageType>).whenStoreFails ?? 'refuse';
      if (policy === 'answer') fromMemory.push(letter);
      else if (policy === 'wait' && this.#mayWait(letter)) this.#patient.push(letter);
      else letter.reject(storeUnavailable());
    }
    return fromMemory;
  }

  /** The store commits again. */
  end(): void {
    this.#cancelProbe?.();
    this.#core.log.info('the store commits again');
    this.#self.tell({ type: 'COMMITTED' });
    for (const letter of this.#patient.splice(0)) this.#mailbox.post(letter);
    this.#mailbox.post({ kind: 'wake' });
  }

  /** The server goes down: nobody waits any longer. */
  stop(): void {
    this.#cancelProbe?.();
    for (const letter of this.#patient.splice(0)) letter.reject(storeUnavailable());
  }

  #probeLater(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = this.#core.clock.timer(this.#core.settings.probeInterval, () => void this.#probe());
  }

  /** Tries the store now and then, so that waiting reports go on without a new message. */
  async #probe(): Promise<void> {
    if (this.#self.state !== 'degraded') return;
    try {
      // Never beside a turn: the two would share one connection, and with it one transaction.
      await this.#mailbox.visit(() => this.#core.store.probe());
      this.end();
    } catch {
      this.#giveUpOld();
      if (this.#self.state === 'degraded') this.#probeLater();
    }
  }

  #giveUpOld(): void {
    const old = this.#patient.filter((letter) => this.#isOld(letter));
    this.#patient = this.#patient.filter((letter) => !this.#isOld(letter));
    for (const letter of old) letter.reject(storeUnavailable());
  }

  #mayWait(letter: MessageLetter): boolean {
    const isRoom = this.#patient.length < this.#core.settings.maxWaiting;
    return isRoom && !this.#isOld(letter) && this.#self.state === 'degraded';
  }

  #isOld({ arrived }: MessageLetter): boolean {
    return this.#core.clock.monotonic() - arrived >= this.#core.settings.reportPatience;
  }
}
