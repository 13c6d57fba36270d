import type { MessageType } from '../../gateway/messages.ts';
import type { Core } from './core.ts';
import type { Handler } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import { answerAll } from './jobs/bulk-command.ts';
import { comeBackLater } from './runtime/arm-deadlines.ts';
import { OutcomeUnknown } from './store/fault.ts';
import type { SupervisorActor } from './supervisor-actor.ts';
import { type MessageEnvelope, outcomeUnknown, storeUnavailable } from './turn/envelope.ts';
import type { Mailbox } from './turn/mailbox.ts';
import type { Taken } from './turn/own-work.ts';

/**
 * The time in which the store cannot commit: who is refused, who waits, and how it is noticed that it works again,
 * which needs no new message and no restart.
 */
export class Outage {
  readonly #core: Core;
  readonly #actor: SupervisorActor;
  readonly #mailbox: Mailbox;
  #cancelProbe: (() => void) | null = null;
  /** Reports that wait for the store to work again. */
  #waiting: MessageEnvelope[] = [];

  constructor(core: Core, self: SupervisorActor, mailbox: Mailbox) {
    this.#core = core;
    this.#actor = self;
    this.#mailbox = mailbox;
  }

  /**
   * The store could not commit a turn: nothing of it happened, unless that will not be known.
   * @returns what is answered all the same, from memory
   */
  begin(error: Error, envelopes: readonly Taken[]): MessageEnvelope[] {
    if (this.#actor.state !== 'degraded') {
      const advice = this.#core.store.adviceOn(error);
      this.#core.log.error({ err: error }, `the store cannot commit${advice === null ? '' : `: ${advice}`}`);
    }
    this.#actor.tell({ type: 'COMMIT_FAILED', fault: error.message });
    this.#probeLater();
    answerAll(this.#core.directory.jobs.values());
    const refusal = error instanceof OutcomeUnknown ? outcomeUnknown : storeUnavailable;
    const fromMemory: MessageEnvelope[] = [];
    for (const envelope of envelopes) {
      if (envelope.kind === 'deadline') comeBackLater(this.#core, envelope.key);
      if (envelope.kind === 'work') envelope.reject(refusal());
      if (envelope.kind !== 'message') continue;
      const policy = (HANDLERS[envelope.message.type] as Handler<MessageType>).whenStoreFails ?? 'refuse';
      if (policy === 'answer') fromMemory.push(envelope);
      else if (policy === 'wait' && this.#mayWait(envelope)) this.#waiting.push(envelope);
      else envelope.reject(refusal());
    }
    return fromMemory;
  }

  /** The store commits again. */
  end(): void {
    this.#cancelProbe?.();
    this.#core.log.info('the store commits again');
    this.#actor.tell({ type: 'COMMITTED' });
    for (const envelope of this.#waiting.splice(0)) this.#mailbox.enqueue(envelope);
    this.#mailbox.enqueue({ kind: 'wake' });
  }

  /** The server goes down: nobody waits any longer. */
  stop(): void {
    this.#cancelProbe?.();
    for (const envelope of this.#waiting.splice(0)) envelope.reject(storeUnavailable());
  }

  #probeLater(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = this.#core.clock.timer(this.#core.settings.probeInterval, () => void this.#probe());
  }

  /** Tries the store now and then, so that waiting reports go on without a new message. */
  async #probe(): Promise<void> {
    if (this.#actor.state !== 'degraded') return;
    try {
      // Never beside a turn: the two would share one connection, and with it one transaction.
      await this.#mailbox.betweenTurns(() => this.#core.store.probe());
      this.end();
    } catch {
      this.#refuseExpired();
      if (this.#actor.state === 'degraded') this.#probeLater();
    }
  }

  #refuseExpired(): void {
    const old = this.#waiting.filter((envelope) => this.#isExpired(envelope));
    this.#waiting = this.#waiting.filter((envelope) => !this.#isExpired(envelope));
    for (const envelope of old) envelope.reject(storeUnavailable());
  }

  #mayWait(envelope: MessageEnvelope): boolean {
    const isRoom = this.#waiting.length < this.#core.settings.maxWaiting;
    return isRoom && !this.#isExpired(envelope) && this.#actor.state === 'degraded';
  }

  #isExpired({ arrived }: MessageEnvelope): boolean {
    return this.#core.clock.monotonic() - arrived >= this.#core.settings.reportTimeout;
  }
}
