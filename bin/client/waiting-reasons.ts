import type { JobView } from '../../machines/schema/views.ts';
import type { Session } from '../support/client-command.ts';
import { waitingLines } from '../terminal/waiting.ts';
import type { TaskBoard } from './task-board.ts';
import { TASK_PAGE } from './task-pages.ts';

/** A task that can run is leased within milliseconds; whoever waits this long wants to know why. */
const LOOK_MS = 3_000;

/** Says why nothing of a job runs, while somebody waits for it; again only when the reason has changed. */
export class WaitingReasons {
  readonly #session: Session;
  readonly #job: JobView;
  readonly #board: TaskBoard;
  readonly #tell: (line: string) => void;
  #told = '';
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(session: Session, job: JobView, board: TaskBoard, tell: (line: string) => void) {
    this.#session = session;
    this.#job = job;
    this.#board = board;
    this.#tell = tell;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look().catch(() => {}), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A fault is nobody's concern here: the stream of events tells that the server is away. */
  async #look(): Promise<void> {
    const stands = () =>
      this.#board.count('queued') > 0 && this.#board.count('running') + this.#board.count('leased') === 0;
    if (this.#looking || !stands()) return;
    this.#looking = true;
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
      if (this.#timer === undefined || text === this.#told || !stands()) return;
      this.#told = text;
      for (const line of lines) this.#tell(line);
    } finally {
      this.#looking = false;
    }
  }
}
