import { setTimeout as delay } from 'node:timers/promises';
import { ResponseError } from '../../gateway/client/errors.ts';
import type { Seeded } from '../support/seeded.ts';
import { isFenced, type Line } from './line.ts';

interface Held {
  task_id: string;
  job_id: string;
  attempt: number;
  params: { token: string };
}

/**
 * A worker that lives with the clients and does no work, so that the ledger knows of each of its reports whether
 * it was acknowledged. A report without an answer is repeated until it has one.
 */
export class Hand {
  readonly #line: Line;
  readonly #chance: Seeded;
  #id = '';
  #held: Held | null = null;
  #reports = 0;

  constructor(line: Line, chance: Seeded) {
    this.#line = line;
    this.#chance = chance;
  }

  async run(): Promise<void> {
    const beating = this.#beat();
    while (this.#line.staffed) {
      if (this.#id === '') await this.#register();
      const task = await this.#lease();
      if (!task) continue;
      this.#held = task;
      await this.#work(task).catch((fault) => {
        // The lease expired while the server was away, or the job was cancelled: the task is somebody else's.
        if (!isFenced(fault)) throw fault;
      });
      this.#held = null;
    }
    await beating;
  }

  async #register(): Promise<void> {
    const body = { name: 'hand', version: { packages: { tick: '1' } } };
    const registered = await this.#line.persist(() => this.#line.client.call('registerWorker', { body }));
    this.#id = registered.worker_id;
    this.#line.ledger.add({ what: 'worker', id: this.#id });
  }

  async #lease(): Promise<Held | null> {
    const ask = { params: { id: this.#id }, body: { wait_s: 1 } };
    const answer = await this.#line.once(() => this.#line.client.call('lease', ask));
    return (answer?.task as Held | null | undefined) ?? null;
  }

  async #work(task: Held): Promise<void> {
    const { client, ledger } = this.#line;
    const at = this.#at(task);
    await this.#line.persist(() => client.call('startTask', at));
    ledger.add({ what: 'start', task: task.task_id, attempt: task.attempt });
    await delay(this.#chance.whole(0, 30));
    if (this.#chance.chance(0.3)) await this.#tell(task);
    if (this.#chance.chance(0.2)) await this.#fail(task);
    else await this.#complete(task);
  }

  /** Said once and never again: the ledger holds only what was acknowledged. */
  async #tell(task: Held): Promise<void> {
    const token = this.#token(task);
    const body = { type: 'note', message: token };
    const told = await this.#line.once(() =>
      this.#line.client.call('reportEvents', { ...this.#at(task), body }),
    );
    if (told) this.#line.ledger.add({ what: 'event', task: task.task_id, token });
  }

  async #complete(task: Held): Promise<void> {
    const token = this.#token(task);
    const extra = { token: task.params.token, report: token };
    const body = { status: 'succeeded' as const, metrics: { best_rmse: this.#chance.next() }, extra };
    await this.#line.persist(() => this.#line.client.call('completeTask', { ...this.#at(task), body }));
    const { task_id, job_id: job, attempt } = task;
    this.#line.ledger.add({ what: 'complete', task: task_id, job, attempt, worker: this.#id, token });
  }

  async #fail(task: Held): Promise<void> {
    const error = this.#token(task);
    const body = { error, retriable: this.#chance.chance(0.5) };
    const { requeued } = await this.#line.persist(() =>
      this.#line.client.call('failTask', { ...this.#at(task), body }),
    );
    const { task_id, job_id: job, attempt } = task;
    this.#line.ledger.add({ what: 'fail', task: task_id, job, attempt, error, requeued });
  }

  #at({ task_id, attempt }: Held) {
    return { params: { id: task_id }, query: { worker_id: this.#id, attempt } };
  }

  #token({ task_id, attempt }: Held): string {
    return `${this.#id} ${task_id} ${attempt} ${this.#reports++}`;
  }

  async #beat(): Promise<void> {
    while (this.#line.staffed) {
      await delay(500);
      if (this.#id === '') continue;
      const active = this.#held ? [{ task_id: this.#held.task_id, attempt: this.#held.attempt }] : [];
      try {
        const aim = { params: { id: this.#id }, body: { active } };
        await this.#line.once(() => this.#line.client.call('heartbeat', aim));
      } catch (fault) {
        // An acknowledged registration must never be unknown.
        if (!(fault instanceof ResponseError)) throw fault;
        throw new Error(`heartbeat of ${this.#id}: ${fault.message}`);
      }
    }
  }
}
