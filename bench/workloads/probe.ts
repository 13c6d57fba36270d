import { setTimeout as delay } from 'node:timers/promises';
import { HttpPool } from '../load/http-pool.ts';
import { type MeasuredServer, mainThreadCpu } from '../measure/server.ts';

/** Asks for the server's health again and again. */
export class Probe {
  readonly #pool: HttpPool;
  readonly #pid: number;
  #longest = { waited: 0, worked: 0 };
  #over = false;
  #asking: Promise<void>;

  private constructor(pool: HttpPool, pid: number) {
    this.#pool = pool;
    this.#pid = pid;
    this.#asking = this.#ask();
  }

  static async begin({ url, pid }: MeasuredServer): Promise<Probe> {
    return new Probe(await HttpPool.open(url, 1), pid);
  }

  /** The longest answer, and the most processor time of the main thread between two answers; milliseconds. */
  async end(): Promise<{ waited: number; worked: number }> {
    this.#over = true;
    await this.#asking;
    this.#pool.close();
    return this.#longest;
  }

  async #ask(): Promise<void> {
    let used = mainThreadCpu(this.#pid);
    while (!this.#over) {
      const began = performance.now();
      await this.#pool.read('/healthz');
      const now = mainThreadCpu(this.#pid);
      this.#longest = {
        waited: Math.max(this.#longest.waited, performance.now() - began),
        worked: Math.max(this.#longest.worked, now - used),
      };
      used = now;
      await delay(1);
    }
  }
}
