import { HttpPool } from '../load/http-pool.ts';
import { matrixJob, RESULT, worker } from '../load/sample-job.ts';

/** More tasks than are done meanwhile. */
const TASKS = 10_000;
const RESULT_TEXT = JSON.stringify(RESULT);

/** The longest that each took, in milliseconds. */
export interface Longest {
  heartbeat: number;
  lease: number;
  complete: number;
}

/** A worker that does the tasks of a job, one after the other, and notes how long it waits for its answers. */
export class Others {
  readonly #pool: HttpPool;
  readonly #job: string;
  readonly #worker: string;
  readonly #longest: Longest = { heartbeat: 0, lease: 0, complete: 0 };
  #over = false;
  readonly #working: Promise<void>;

  private constructor(pool: HttpPool, job: string, id: string) {
    this.#pool = pool;
    this.#job = job;
    this.#worker = `/v1/workers/${id}`;
    this.#working = this.#work(id);
  }

  static async begin(url: string): Promise<Others> {
    const pool = await HttpPool.open(url, 1);
    const job = JSON.stringify({ ...JSON.parse(matrixJob(TASKS / 100, 100)), priority: 99 });
    const { id } = JSON.parse(await pool.accepted('/v1/jobs', job)) as { id: string };
    const registered = await pool.accepted('/v1/workers/register', worker('another', 1));
    return new Others(pool, id, (JSON.parse(registered) as { worker_id: string }).worker_id);
  }

  async end(): Promise<Longest> {
    this.#over = true;
    await this.#working;
    // What is left of it would be leased before the tasks of the next case.
    await this.#pool.accepted(`/v1/jobs/${this.#job}/cancel`);
    this.#pool.close();
    return this.#longest;
  }

  async #work(worker_id: string): Promise<void> {
    while (!this.#over) {
      await this.#ask('heartbeat', `${this.#worker}/heartbeat`, '{}');
      const { task } = JSON.parse(await this.#ask('lease', `${this.#worker}/lease`, '{}')) as {
        task: { task_id: string } | null;
      };
      if (!task) throw new Error('no task is left for the other worker');
      const path = `/v1/tasks/${task.task_id}`;
      await this.#pool.accepted(`${path}/start?worker_id=${worker_id}`, '{}');
      await this.#ask('complete', `${path}/complete?worker_id=${worker_id}`, RESULT_TEXT);
    }
  }

  async #ask(what: keyof Longest, path: string, body: string): Promise<string> {
    const began = performance.now();
    const answer = await this.#pool.accepted(path, body);
    this.#longest[what] = Math.max(this.#longest[what], performance.now() - began);
    return answer;
  }
}
