import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_SETTINGS } from '../../actors/server/core.ts';
import type { Queries } from '../../actors/server/store/sql.ts';
import type { Program } from '../support/program.ts';
import type { Seeded } from '../support/seeded.ts';
import { lookInto } from '../support/test-store.ts';
import { until } from '../support/until.ts';
import type { Line } from './line.ts';

/** Four slices. */
const TASKS = 4 * DEFAULT_SETTINGS.sliceSize;
/** Jobs after which it is a fault that none was met half-way. */
const TRIES = 20;

type Act = 'cancel' | 'retry';
/** The counter of a job that grows with each slice, and the event that tells it of each task. */
const COUNTER = { cancel: 'num_cancelled', retry: 'num_queued' } as const;
const EVENT = { cancel: 'task_cancelled', retry: 'task_requeued' } as const;

interface Large {
  id: string;
  name: string;
  text: string;
}

/**
 * Kills servers that cancel or retry a job of very many tasks, between two of the slices in which they do. The next one
 * goes on with it, though nobody asks again.
 */
export class Slices {
  readonly #line: Line;
  readonly #state: string;
  #struck: (Large & { act: Act }) | null = null;
  /** Servers that were killed when some tasks of a job had been told, and others not. */
  halfWay = 0;

  constructor(line: Line, state: string) {
    this.#line = line;
    this.#state = state;
  }

  /** Kills a server between two slices, and resolves when it is dead. */
  async strike(server: Program, chance: Seeded, label: string): Promise<void> {
    const act = chance.pick(['cancel', 'retry'] as const);
    await lookInto(this.#state, async (db) => {
      for (let n = 0; n < TRIES; n++) {
        const job = await this.#submit(`${label}-${n}`);
        if (act === 'retry') await this.#failAll();
        if (await this.#killMeanwhile(db, server, act, job)) {
          this.#struck = { ...job, act };
          return;
        }
        await this.#end(job);
      }
      throw new Error(`none of ${TRIES} jobs was met half-way`);
    });
  }

  /** With the server that follows: what was begun comes to its end, each task told once. @returns what is wrong */
  async look(): Promise<string[]> {
    if (!this.#struck) return [];
    const { act, ...job } = this.#struck;
    this.#struck = null;
    const view = () => this.#line.client.call('getJob', { params: { id: job.id } });
    const faults: string[] = [];
    const all = async () => (await view()).aggregate[COUNTER[act]] === TASKS;
    await until(`the ${act} of ${job.name} to go on`, all).catch((fault: Error) =>
      faults.push(fault.message),
    );
    const told = await this.#toldOf(job.id, EVENT[act]);
    if (told.length !== TASKS || new Set(told).size !== TASKS) {
      faults.push(`${job.name}: ${EVENT[act]} ${told.length} times, of ${new Set(told).size} tasks`);
    }
    await this.#end(job);
    return faults;
  }

  async #submit(name: string): Promise<Large> {
    const pipelines = Array.from({ length: TASKS }, (_, inline) => ({ kind: 'inline_json', inline }));
    const dataset = { kind: 'shared_path', path: '/tmp' };
    // Nobody else has what its tasks ask for.
    const text = JSON.stringify({ type: 'slices.run', name, pipelines, dataset, retry: { max_attempts: 1 } });
    this.#line.ledger.submitted.add(name);
    const { id } = await this.#line.client.call('submitJob', { text });
    return { id, name, text };
  }

  /** All tasks that wait are leased, and fail. */
  async #failAll(): Promise<void> {
    const { client, ledger } = this.#line;
    const body = { slots_total: TASKS, version: { packages: { slices: '1' } } };
    const { worker_id } = await client.call('registerWorker', { body });
    ledger.add({ what: 'worker', id: worker_id });
    for (;;) {
      const { tasks = [] } = await client.call('lease', {
        params: { id: worker_id },
        body: { max_tasks: TASKS },
      });
      if (tasks.length === 0) return;
      const reports = tasks.map(({ task_id, attempt }) => ({
        ...{ type: 'fail' as const, task_id, attempt, worker_id },
        failure: { error: 'as it should' },
      }));
      await client.call('reportMany', { body: { reports } });
    }
  }

  /** Kills the server when a part of the tasks has been told. False when it was too quick, and lives. */
  async #killMeanwhile(db: Queries, server: Program, act: Act, { id }: Large): Promise<boolean> {
    const { client } = this.#line;
    let isOver = false;
    const asked = client
      .call(act === 'cancel' ? 'cancelJob' : 'retryJob', { params: { id } })
      .catch(() => {})
      .finally(() => {
        isOver = true;
      });
    const told = async (): Promise<number> =>
      (await db.get<{ told: number }>(`SELECT ${COUNTER[act]} AS told FROM jobs WHERE id = ?`, id))?.told ??
      0;
    const isHalfWay = (count: number) => count > 0 && count < TASKS;
    while (!isOver && !isHalfWay(await told())) await delay(0);
    if (isOver) return false;
    await server.kill();
    await asked;
    if (isHalfWay(await told())) this.halfWay++;
    return true;
  }

  /** It is cancelled, which the ledger knows. */
  async #end({ id, name, text }: Large): Promise<void> {
    const { client, ledger } = this.#line;
    ledger.cancelSent.add(id);
    const { status } = await client.call('cancelJob', { params: { id } });
    ledger.add({ what: 'job', name, id, text });
    ledger.add({ what: 'cancel', job: id, status });
  }

  /** The tasks that events of a type are about. */
  async #toldOf(id: string, type: string): Promise<string[]> {
    const tasks: string[] = [];
    for (let after = 0, more = true; more; ) {
      const query = { after_id: after, limit: 5000 };
      const events = await this.#line.client.call('listJobEvents', { params: { id }, query });
      more = events.length === 5000;
      after = events.at(-1)?.id ?? after;
      tasks.push(...events.filter((event) => event.type === type).map(({ task_id }) => task_id as string));
    }
    return tasks;
  }
}
