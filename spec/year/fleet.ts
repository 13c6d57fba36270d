import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import type { Seeded } from '../support/seeded.ts';
import { HOUR } from './calendar.ts';
import type { World } from './world.ts';

/** Machines that are always there. */
const STEADY = 4;
/** Bytes that the files of a task have at most. */
const [MODEL, LOG] = [6000, 1500];
const MOST_REPORTS = 200;

interface Run {
  task: string;
  attempt: number;
  /** Second at which the analysis ends. */
  endsAt: number;
  fails: boolean;
  stopped: boolean;
}

type Report = Record<string, unknown>;

/** Workers as the worker program is one, each a number of slots; those who own them switch them on and off. */
export class Fleet {
  readonly #world: World;
  readonly #chance: Seeded;
  readonly #workers: PlayedWorker[] = [];
  #count = 0;

  constructor(world: World) {
    this.#world = world;
    this.#chance = world.chance('fleet');
  }

  async begin(): Promise<void> {
    for (let i = 0; i < STEADY; i++) await this.#add(`server ${i}`, 4);
  }

  /** What all workers do in half an hour. */
  async step(): Promise<void> {
    for (const worker of this.#workers) await worker.step();
  }

  get isIdle(): boolean {
    return this.#workers.every(({ runs }) => runs === 0);
  }

  get ids(): string[] {
    return this.#workers.map(({ id }) => id);
  }

  /** In the evening, machines that people sit at by day join. */
  async evening(): Promise<void> {
    for (let i = this.#chance.below(3); i > 0; i--) await this.#add(`desk ${++this.#count}`, 2);
  }

  /** In the morning they are needed: most are told to end, some are just switched off. */
  async morning(): Promise<void> {
    const desks = this.#workers.splice(STEADY);
    for (const desk of desks) if (this.#chance.chance(0.7)) await desk.leave();
  }

  /** One of the machines that are always there is started anew, and takes up its registration. */
  async reboot(): Promise<void> {
    await this.#chance.pick(this.#workers.slice(0, STEADY)).register();
  }

  async #add(name: string, slots: number): Promise<void> {
    this.#world.counts.workers++;
    const worker = new PlayedWorker(this.#world, this.#world.chance(name), name, slots);
    await worker.register();
    this.#workers.push(worker);
  }
}

class PlayedWorker {
  id = '';
  readonly #world: World;
  readonly #chance: Seeded;
  readonly #name: string;
  readonly #slots: number;
  #runs: Run[] = [];
  /** Reports that were not taken, because the store could write nothing. */
  #outbox: Report[] = [];

  constructor(world: World, chance: Seeded, name: string, slots: number) {
    this.#world = world;
    this.#chance = chance;
    this.#name = name;
    this.#slots = slots;
  }

  get runs(): number {
    return this.#runs.length + this.#outbox.length;
  }

  async register(): Promise<void> {
    const body = {
      name: this.#name,
      slots_total: this.#slots,
      labels: { site: 'lab' },
      version: { python: '3.11.2', packages: { demo: '1.0' } },
      ...(this.id === '' ? {} : { worker_id: this.id }),
    };
    const { worker_id } = await this.#insist((lab) => lab.call('registerWorker', { body }));
    this.id = worker_id;
    this.#world.workers.add(worker_id);
    this.#runs = [];
  }

  async step(): Promise<void> {
    try {
      await this.#deliver(this.#endings());
      const hasAsked = await this.#lease();
      // Who only waits for work is heard by that.
      if (this.#runs.length > 0 || !hasAsked) await this.#beat();
    } catch (fault) {
      if (!(fault instanceof ResponseError)) throw fault;
      // What a full disk refuses is tried again; who is unknown, as after the limit for workers that were gone, begins anew.
      if (fault.code === 'unknown_id') {
        this.id = '';
        await this.register();
      } else if (!fault.transient) throw fault;
    }
  }

  /** It ends what it has, and says that it is gone. */
  async leave(): Promise<void> {
    const told = this.#runs.map((run) => ({ ...run, fails: true, endsAt: 0 }));
    this.#runs = [];
    await this.#deliver(told.flatMap((run) => this.#end(run)));
    const body = { active: [], leaving: 'stopped' as const };
    await this.#insist((lab) => lab.call('heartbeat', { params: { id: this.id }, body })).catch(refused);
  }

  #endings(): Report[] {
    const { now } = this.#world;
    const over = this.#runs.filter(({ endsAt }) => endsAt <= now);
    this.#runs = this.#runs.filter(({ endsAt }) => endsAt > now);
    return over.flatMap((run) => this.#end(run));
  }

  #end({ task, attempt, fails, stopped }: Run): Report[] {
    const who = { task_id: task, worker_id: this.id, attempt };
    const content = (most: number) =>
      Buffer.from(this.#chance.bytes(this.#chance.whole(1, most))).toString('base64');
    const logs = { role: 'logs', kind: 'logs', filename: 'log.txt', content: content(LOG) };
    if (fails || stopped) {
      const failure = { error: stopped ? 'stopped' : 'the analysis failed', retriable: !stopped };
      return [{ type: 'fail', ...who, failure, files: [logs] }];
    }
    const metrics = { best_rmse: Math.round(this.#chance.next() * 1e6) / 1e6, best_r2: this.#chance.next() };
    const files = [logs];
    if (this.#chance.chance(0.5))
      files.push({ role: 'model', kind: 'model', filename: 'model.bin', content: content(MODEL) });
    const result = { metrics, counts: { num_predictions: 200 }, extra: { mark: `${task} ${attempt}` } };
    const events = [1, 2, 3].map((i) => ({
      type: 'log',
      message: `step ${i} of 3 is done`,
      progress: i / 3,
    }));
    return [
      { type: 'events', ...who, events },
      { type: 'complete', ...who, result, files },
    ];
  }

  async #deliver(reports: Report[]): Promise<void> {
    const all = [...this.#outbox, ...reports];
    this.#outbox = [];
    while (all.length > 0) {
      const some = all.splice(0, MOST_REPORTS);
      const text = JSON.stringify({ reports: some });
      const { results } = await this.#insist((lab) => lab.call('reportMany', { text })).catch((fault) => {
        this.#outbox.push(...some, ...all.splice(0));
        throw fault;
      });
      for (const [i, { ok, status }] of results.entries())
        if (!ok && (status === 503 || status === 507)) this.#outbox.push(some[i] as Report);
    }
  }

  /** @returns whether it has asked */
  async #lease(): Promise<boolean> {
    const free = this.#slots - this.runs;
    if (free <= 0) return false;
    const body = { max_tasks: free, wait_s: 0 };
    const { tasks = [] } = await this.#insist((lab) => lab.call('lease', { params: { id: this.id }, body }));
    if (tasks.length === 0) return true;
    const runs = tasks.map(({ task_id, attempt }) => this.#begin(task_id, attempt));
    this.#runs.push(...runs);
    await this.#deliver(
      runs.map(({ task, attempt }) => ({ type: 'start', task_id: task, worker_id: this.id, attempt })),
    );
    return true;
  }

  #begin(task: string, attempt: number): Run {
    const chance = this.#chance;
    // Most take an hour or two, a few the night.
    const lasts = chance.chance(0.05) ? chance.between(4, 12) * HOUR : chance.between(0.2, 2) * HOUR;
    return { task, attempt, endsAt: this.#world.now + lasts, fails: chance.chance(0.06), stopped: false };
  }

  async #beat(): Promise<void> {
    const active = this.#runs.map(({ task, attempt }) => ({ task_id: task, attempt }));
    const input = { params: { id: this.id }, body: { active } };
    const { cancel_task_ids } = await this.#insist((lab) => lab.call('heartbeat', input));
    const told = new Set(cancel_task_ids);
    const stopping = this.#runs.filter(({ task }) => told.has(task));
    this.#runs = this.#runs.filter(({ task }) => !told.has(task));
    await this.#deliver(stopping.flatMap((run) => this.#end({ ...run, stopped: true })));
  }

  #insist<T>(ask: (lab: ClusterClient) => Promise<T>): Promise<T> {
    const world = this.#world;
    return world.insist(() => ask(world.doors.of('lab')));
  }
}

const refused = (fault: unknown): void => {
  if (!(fault instanceof ResponseError)) throw fault;
};
