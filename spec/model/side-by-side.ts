import { readTasks } from '../support/views.ts';
import type { Act } from './acts.ts';
import { nameIt } from './acts.ts';
import { requestOf } from './calls.ts';
import { mismatch, Names, type Observation } from './compare.ts';
import type { Request } from './operations.ts';
import { expire, perform, settle } from './reference.ts';
import { stateMismatch } from './state.ts';
import type { System } from './system.ts';
import { passUntil } from './time.ts';
import { emptyWorld, type World } from './world.ts';

/** What was played, for the report. */
export interface Played {
  operations: number;
  requests: number;
  answered: number;
  restarts: number;
  crashes: number;
  refusals: number;
  groups: number;
  /** Crashes and refusals between two commits of the same request. */
  slices: number;
  /** Tasks that had the result of an earlier one. */
  reused: number;
  /** What operators did, and was done. */
  operated: number;
}

const OPERATED = /^(queue_|job_changed|worker_drain_)/;

export const NOTHING: Readonly<Played> = {
  ...{ operations: 0, requests: 0, answered: 0, restarts: 0, crashes: 0, refusals: 0 },
  ...{ groups: 0, slices: 0, reused: 0, operated: 0 },
};

/** The system and the reference beside it: what is sent to both, and where they differ. */
export class SideBySide {
  readonly played: Played = { ...NOTHING };
  protected readonly system: System;
  protected world: World;
  protected names = new Names();
  protected ticket = 0;
  protected readonly acts = new Map<number, Act>();

  constructor(system: System) {
    this.system = system;
    this.world = emptyWorld(system.clock.monotonic());
  }

  protected async pass(seconds: number): Promise<void> {
    await this.system.pass(seconds);
    passUntil(this.world, this.system.clock.monotonic());
    await this.compare([this.world], seconds > 1);
  }

  protected name(request: Request): Act | null {
    const act = nameIt(this.world, request, ++this.ticket);
    if (act) this.acts.set(act.ticket, act);
    return act;
  }

  protected async send(act: Act): Promise<void> {
    const { method, path, body } = requestOf(act, this.names.idOf);
    const mayWait = act.act === 'lease' || act.act === 'beat';
    this.played.requests++;
    await this.system.send(act.ticket, method, path, body, mayWait);
  }

  protected async single(request: Request): Promise<void> {
    const act = this.name(request);
    if (act) await this.serve(act);
  }

  protected async serve(act: Act): Promise<void> {
    await this.send(act);
    await this.comeToRest();
    perform(this.world, act);
    settle(this.world);
    expire(this.world);
    await this.compare([this.world], false);
  }

  /** Who waits no time is answered when time is looked at. */
  protected async comeToRest(): Promise<void> {
    await this.system.settle();
    await this.system.pass(0);
  }

  protected beat(worker: string, active: 'all' | null): Promise<void> {
    const number = Object.keys(this.world.workers).indexOf(worker);
    const beat = { op: 'beat', worker: number, active, wait: 0, session: 'none', suspended: false } as const;
    return this.single(beat);
  }

  /** Goes on with the first of the possible worlds that fits what the system did. */
  protected async compare(worlds: Iterable<World>, grouped: boolean): Promise<void> {
    let observed: Observation | null = null;
    let first: string | null = null;
    for (const world of worlds) {
      observed ??= await this.#observe(world);
      const names = new Names(this.names);
      const fault = mismatch(world, this.acts, observed, names, grouped);
      if (fault === null) {
        this.names = names;
        this.played.reused += world.events.filter(({ type }) => type === 'task_reused').length;
        this.played.operated += world.events.filter(({ type }) => OPERATED.test(type)).length;
        this.world = { ...world, answers: {}, events: [] };
        return;
      }
      first ??= fault;
    }
    throw new Error(first ?? 'there is nothing to compare with');
  }

  async #observe(world: World): Promise<Observation> {
    const answers: Observation['answers'] = new Map();
    const tasks: Observation['tasks'] = new Map();
    for (const ticket of Object.keys(world.answers).map(Number))
      await this.system.answered(ticket).catch(() => null);
    for (const [ticket, { answer }] of this.system.outstanding) {
      if (!answer) continue;
      const body = JSON.parse(answer.body) as Record<string, unknown>;
      answers.set(ticket, { status: answer.status, body });
      this.system.outstanding.delete(ticket);
      this.played.answered++;
      if (this.acts.get(ticket)?.act === 'submit' && answer.status === 200) {
        const views = await readTasks(this.system.port, String(body.id));
        tasks.set(
          String(body.id),
          views.map((view) => view.id),
        );
      }
    }
    return { answers, tasks, events: this.system.newEvents() };
  }

  protected async compareState(): Promise<void> {
    const fault =
      (await this.system.eventMismatch()) ?? (await stateMismatch(this.world, this.system, this.names));
    if (fault !== null) throw new Error(fault);
  }
}
