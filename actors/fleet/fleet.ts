import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Actor, createActor } from 'xstate';
import type { ClusterClient } from '../../gateway/client/client.ts';
import type { Fleet, Template } from '../../machines/fleet/file.ts';
import { type Brought, profileOf } from '../../machines/fleet/offer.ts';
import {
  type Allocation,
  type Plan,
  planOf,
  type TemplateFacts,
  type TemplatePlan,
} from '../../machines/fleet/plan.ts';
import { NEW_TEMPLATE, type TemplateContext, templateMachine } from '../../machines/fleet/template.ts';
import type { Clock } from '../shared/clock.ts';
import { EngineError } from './engine.ts';
import { type Engines, lookAround, type Seen } from './look.ts';
import { Notes } from './notes.ts';
import { UnheardWorkers } from './unheard.ts';
import { UnusedWorkers } from './unused.ts';
import { workerName } from './worker-command.ts';

export interface FleetParts {
  fleet: Fleet;
  client: ClusterClient;
  engines: Engines;
  /** What every worker brings. */
  brought: Brought;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

/** What a round found, and what came of it. */
export interface Round {
  plan: Plan;
  /** Engines that could not be looked at, and why. */
  blind: ReadonlyMap<string, string>;
}

/** Keeps the allocations of a fleet, a round at a time: looks, decides, asks. */
export class FleetKeeper {
  readonly #parts: FleetParts;
  readonly #notes: Notes;
  readonly #actors = new Map<string, Actor<typeof templateMachine>>();
  readonly #unused = new UnusedWorkers();
  readonly #unheard = new UnheardWorkers();
  readonly #said = new Map<string, string>();
  /** Ids of allocations whose workers were told to end. */
  readonly #drained = new Set<string>();

  private constructor(parts: FleetParts, noted: ReadonlyMap<string, TemplateContext>) {
    this.#parts = parts;
    this.#notes = new Notes(parts.fleet.state);
    for (const { name } of parts.fleet.templates) {
      const input = noted.get(name) ?? NEW_TEMPLATE;
      this.#actors.set(name, createActor(templateMachine, { input }).start());
    }
  }

  /** Pauses go on that an earlier program noted. */
  static async open(parts: FleetParts): Promise<FleetKeeper> {
    return new FleetKeeper(parts, await new Notes(parts.fleet.state).read());
  }

  /**
   * What would be done now, without doing it.
   * @throws the client's errors
   */
  async look(): Promise<Round> {
    const seen = await this.#lookAround();
    return { plan: this.#plan(seen), blind: seen.blind };
  }

  /**
   * Looks, decides and does it.
   * @throws the client's errors, when the server cannot be asked: then nothing is changed
   */
  async round(): Promise<Round> {
    const seen = await this.#lookAround();
    this.#tell(seen);
    const unheard = this.#noteUnheard(seen);
    this.#noteUnused(seen, this.#plan(seen, unheard));
    const plan = this.#plan(seen, unheard);
    for (const decided of plan.templates) await this.#act(decided);
    await this.#notes.write([...this.#actors].map(([name, actor]) => [name, actor.getSnapshot().context]));
    return { plan, blind: seen.blind };
  }

  /** Gives up what waits, and has the workers end that run. @returns how many allocations are there still */
  async end(): Promise<number> {
    const { fleet, engines } = this.#parts;
    const all: Allocation[] = [];
    for (const [engine, templates] of byEngine(fleet.templates)) {
      const { allocations } = await engines[engine].look(templates);
      await engines[engine].withdraw(allocations.filter(({ state }) => state === 'waiting'));
      await engines[engine].drain(allocations.filter((each) => this.#isToDrain(each)));
      all.push(...allocations);
    }
    return all.length;
  }

  /** A second signal would break off what a worker runs. */
  #isToDrain({ id, state }: Allocation): boolean {
    if (state !== 'running' || this.#drained.has(id)) return false;
    this.#drained.add(id);
    return true;
  }

  #lookAround(): Promise<Seen> {
    const { client, fleet, engines } = this.#parts;
    return lookAround(client, fleet, engines);
  }

  #tell({ workers, failures, blind }: Seen): void {
    const now = this.#parts.clock.now();
    for (const [name, actor] of this.#actors) {
      const works = workers.some(({ template, slots_used }) => template === name && slots_used > 0);
      actor.send({ type: 'LOOKED', now, works });
    }
    for (const { template, why } of failures) this.#fail(template, why);
    for (const [engine, why] of blind) this.#say(engine, `${engine} cannot be looked at: ${why}`);
  }

  #fail(template: string, why: string): void {
    this.#actors.get(template)?.send({ type: 'FAILED', now: this.#parts.clock.now(), why });
    this.#parts.log.warn({ template, why }, 'an allocation failed');
  }

  /** Who was given a machine and is not heard of has gone astray: no more are sent after it at once. @returns the allocations of all such */
  #noteUnheard(seen: Seen): ReadonlySet<string> {
    const { fleet, clock } = this.#parts;
    const { ids, fresh } = this.#unheard.in(seen, clock.now());
    for (const { template, place, id } of fresh) {
      const worker = workerName(fleet.name, template, place);
      const log = join(fleet.state, template, `${place}.log`);
      this.#fail(
        template,
        `${id} has run for long, and the server does not hear of ${worker}: look at ${log}`,
      );
    }
    return ids;
  }

  #plan({ demand, allocations, workers, blind }: Seen, unheard: ReadonlySet<string> = new Set()): Plan {
    const { fleet, clock, brought } = this.#parts;
    const seeing = fleet.templates.filter(({ engine }) => !blind.has(engine));
    const templates = seeing.map((template): TemplateFacts => {
      const { value, context } = (
        this.#actors.get(template.name) as Actor<typeof templateMachine>
      ).getSnapshot();
      const state = value === 'paused' || value === 'trying' ? value : 'ready';
      return { template, profile: profileOf(template, brought), context, state };
    });
    return planOf({ now: clock.now(), demand, templates, allocations, workers, unheard });
  }

  /** A worker that left without ever having had a task, though there is something for it: once may be, twice is not. */
  #noteUnused(seen: Seen, plan: Plan): void {
    const { fleet, clock } = this.#parts;
    for (const { template, place } of this.#unused.goneIn(seen)) {
      const decided = plan.templates.find((each) => each.name === template);
      if (!decided || decided.wanted <= decided.coming) continue;
      const name = workerName(fleet.name, template, place);
      const why = `${name} came and was given nothing, though ${decided.wanted} slots are wanted that it should serve`;
      this.#actors.get(template)?.send({ type: 'UNUSED', now: clock.now(), why });
    }
  }

  async #act(decided: TemplatePlan): Promise<void> {
    const { fleet, engines, clock, log } = this.#parts;
    const { name, ask, permanent, withdraw, wanted, coming, surplus } = decided;
    const template = fleet.templates.find((each) => each.name === name) as Template;
    const actor = this.#actors.get(name) as Actor<typeof templateMachine>;
    actor.send({ type: 'DECIDED', now: clock.now(), asks: ask.length > 0, surplus });
    this.#say(name, decided.why);
    try {
      if (ask.length > 0) {
        await engines[template.engine].ask(template, { places: ask, permanent });
        log.info({ template: name, places: ask, wanted, coming }, 'asks for allocations');
      }
      if (withdraw.length > 0) {
        await engines[template.engine].withdraw(withdraw);
        log.info({ template: name, places: withdraw.map(({ place }) => place) }, 'gives up allocations');
      }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#fail(name, error.message);
    }
  }

  /** Says something once, until there is something else to say. */
  #say(about: string, what: string): void {
    const text = what.replace(/\d+ s/, 's');
    if (this.#said.get(about) === text) return;
    this.#said.set(about, text);
    this.#parts.log.info({ template: about }, what);
  }
}

function byEngine(templates: readonly Template[]): Map<Template['engine'], Template[]> {
  const sorted = new Map<Template['engine'], Template[]>();
  for (const template of templates)
    sorted.set(template.engine, [...(sorted.get(template.engine) ?? []), template]);
  return sorted;
}
