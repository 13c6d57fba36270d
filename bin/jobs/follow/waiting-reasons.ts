import type { JobView } from '../../../machines/schema/views.ts';
import type { Session } from '../../cli/client-command.ts';
import { waitingLines } from '../../terminal/waiting.ts';
import type { TaskBoard } from './task-board.ts';
import { TASK_PAGE } from './task-pages.ts';

/** A task that can run is leased within milliseconds; whoever waits this long wants to know why. */
const POLL_MS = 3_000;

/** Says why nothing of a job runs, while somebody waits for it; again only when the reason has changed. */
export class WaitingReasons {
  readonly #session: Session;
  readonly #job: JobView;
  readonly #board: TaskBoard;
  readonly #print: (line: string) => void;
  #printed = '';
  #timer: NodeJS.Timeout | undefined;
  #polling = false;

  constructor(session: Session, job: JobView, board: TaskBoard, tell: (line: string) => void) {
    this.#session = session;
    this.#job = job;
    this.#board = board;
    this.#print = tell;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#poll().catch(() => {}), POLL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** An error is ignored here: the event stream reports that the server is away. */
  async #poll(): Promise<void> {
    const stands = () =>
      this.#board.count('queued') > 0 && this.#board.count('running') + this.#board.count('leased') === 0;
    if (this.#polling || !stands()) return;
    this.#polling = true;
    try {
      const { client } = this.#session;
      const [tasks, { workers_alive }] = await Promise.all([
        client.call('listJobTasks', {
          params: { id: this.#job.id },
          query: { status: 'queued', limit: TASK_PAGE },
        }),
        client.call('getStats'),
      ]);
      const lines = waitingLines(tasks, workers_alive, tasks.length === TASK_PAGE);
      const text = lines.join('\n');
      if (this.#timer === undefined || text === this.#printed || !stands()) return;
      this.#printed = text;
      for (const line of lines) this.#print(line);
    } finally {
      this.#polling = false;
    }
  }
}
