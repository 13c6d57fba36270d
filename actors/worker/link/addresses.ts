import type { Logger } from 'pino';
import { askBeside, isNobody } from '../../../gateway/client/beside.ts';
import type { ClusterClient } from '../../../gateway/client/client.ts';

/** The addresses that a worker was told beside the one that it asks: who answers at none of them takes nobody's place. */
export class Addresses {
  readonly #client: ClusterClient;
  readonly #log: Logger;
  readonly #end = new AbortController();
  /** Those that did not answer when they were asked last. */
  readonly #silent = new Set<string>();
  #isLooking = false;

  constructor(client: ClusterClient, log: Logger) {
    this.#client = client;
    this.#log = log;
  }

  /** Each of them is asked whether it is there; the log is told of those that are not, once. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const ask = (beside: ClusterClient, target: object) => beside.call('healthz', target);
    const answers = await askBeside(this.#client, ask, this.#end.signal);
    this.#isLooking = false;
    if (this.#end.signal.aborted) return;
    for (const { server, said } of answers) {
      if (!isNobody(said)) this.#silent.delete(server);
      else if (!this.#silent.has(server)) {
        this.#silent.add(server);
        this.#log.warn({ server }, `${said.message}; as long as that is so, it takes nobody's place`);
      }
    }
  }

  /** It is not looked any longer. */
  close(): void {
    this.#end.abort();
  }
}
