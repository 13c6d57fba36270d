import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import type { Ledger } from './ledger.ts';

/** What the clients share: the way to the server, the ledger, and whether to go on. */
export class Line {
  readonly ledger: Ledger;
  readonly client: ClusterClient;
  #open = true;
  #staffed = true;
  #given = false;

  /** @param timeoutMs how long an answer is waited for */
  constructor(url: string, ledger: Ledger, timeoutMs = 60_000) {
    this.ledger = ledger;
    this.client = new ClusterClient({ server: url, timeoutMs });
  }

  get open(): boolean {
    return this.#open;
  }

  /** Nobody submits any more; those who work go on. */
  shut(): void {
    this.#open = false;
  }

  /** Whether workers take tasks. */
  get staffed(): boolean {
    return this.#staffed;
  }

  /** No new work at all; what is under way is still seen through. */
  dismiss(): void {
    this.shut();
    this.#staffed = false;
  }

  /** Nobody waits for an answer any more, as the server will not come back. */
  async abandon(): Promise<void> {
    this.dismiss();
    this.#given = true;
    await this.client.close();
  }

  /** One request; undefined when nobody answered, or the server asks to come back later. */
  async once<T>(request: () => Promise<T>): Promise<T | undefined> {
    try {
      return await request();
    } catch (fault) {
      if (fault instanceof ResponseError && fault.status !== 503 && !isDoubt(fault)) throw fault;
      this.ledger.unanswered++;
      await delay(50);
      return undefined;
    }
  }

  /** The same request until it is answered; one that the server refuses for good rejects. */
  async persist<T>(request: () => Promise<T>): Promise<T> {
    while (!this.#given) {
      const answer = await this.once(request);
      if (answer !== undefined) return answer;
    }
    throw new Error('the server is not waited for any more');
  }
}

/** Whether the server went down in doubt: what it was asked may have happened, as where nobody answers. */
const isDoubt = ({ message }: ResponseError): boolean => message.includes('ends before it is known');

/** Whether the server said that the task is not this worker's any more, or not in a state for it. */
export const isFenced = (fault: unknown): boolean => fault instanceof ResponseError && fault.status === 409;
