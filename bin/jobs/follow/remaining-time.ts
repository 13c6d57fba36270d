import { remainingWords } from '../../../machines/job/remaining.ts';
import type { JobView } from '../../../machines/schema/views.ts';
import type { Session } from '../../cli/client-command.ts';
import { wholeDuration } from '../../terminal/format.ts';

/** Milliseconds between two questions. */
const POLL_MS = 2_000;

/** What the server expects of the rest of a job, while somebody sees it: on a terminal. */
export class RemainingTime {
  readonly #session: Session;
  readonly #id: string;
  readonly #onChange: () => void;
  #estimate: JobView['estimate'];
  #timer: NodeJS.Timeout | undefined;

  /** @param onChange told when the words may be others */
  constructor(session: Session, id: string, onChange: () => void) {
    this.#session = session;
    this.#id = id;
    this.#onChange = onChange;
  }

  start(): void {
    // That the server is away is told by the stream of events.
    if (this.#session.output.animated)
      this.#timer ??= setInterval(() => this.#poll().catch(() => {}), POLL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Empty while nothing is known. */
  get words(): string {
    return this.#estimate ? remainingWords(this.#estimate, Date.now() / 1000, wholeDuration) : '';
  }

  async #poll(): Promise<void> {
    // A list has no rankings, which may be long.
    const [job] = await this.#session.client.call('listJobs', { query: { ref: this.#id, limit: 1 } });
    if (this.#timer === undefined) return;
    this.#estimate = job?.estimate;
    this.#onChange();
  }
}
