import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../delivery/durable.ts';

/** The worker's id, kept in the state directory, so that a restarted worker is the same one to the server. */
export class Identity {
  readonly #file: string;

  constructor(state: string) {
    this.#file = join(state, 'worker.json');
  }

  async read(): Promise<string | undefined> {
    try {
      const { worker_id } = JSON.parse(await readFile(this.#file, 'utf8')) as { worker_id?: unknown };
      return typeof worker_id === 'string' && worker_id !== '' ? worker_id : undefined;
    } catch {
      return undefined;
    }
  }

  async write(workerId: string): Promise<void> {
    if ((await this.read()) === workerId) return;
    await writeDurably(this.#file, `${JSON.stringify({ worker_id: workerId })}\n`);
  }
}
