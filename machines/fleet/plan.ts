import type { WorkerProfile } from '../matching/matching.ts';
import type { DemandGroup, DemandView } from '../schema/demand.ts';
import type { Template } from './file.ts';
import { usefulSeconds, whyNot } from './offer.ts';
import type { TemplateContext } from './template.ts';

/** An allocation as its engine shows it. */
export interface Allocation {
  template: string;
  /** Its number in the template, from 1: no two that are there have the same. */
  place: number;
  /** What its engine calls it. */
  id: string;
  state: 'waiting' | 'running';
  /** Why it waits, in the engine's words; null where it says nothing. */
  reason: string | null;
  /** Seconds since the epoch; null: nobody ends it, or it is not known yet. */
  ends_at: number | null;
}

/** The worker of an allocation, as the server sees it. */
export interface OwnWorker {
  template: string;
  place: number;
  slots_total: number;
  slots_used: number;
  /** Whether it is given tasks. */
  takes: boolean;
  profile: WorkerProfile;
}

/** What is known of a template when it is decided. */
export interface TemplateFacts {
  template: Template;
  /** What its file promises. */
  profile: WorkerProfile;
  context: TemplateContext;
  state: 'ready' | 'paused' | 'trying';
}

export interface Facts {
  /** Seconds since the epoch. */
  now: number;
  demand: Pick<DemandView, 'groups'>;
  templates: readonly TemplateFacts[];
  allocations: readonly Allocation[];
  workers: readonly OwnWorker[];
  /** Ids of allocations that have run for long without a worker: they serve nothing. */
  unheard: ReadonlySet<string>;
}

/** What a template is to do, and why. */
export interface TemplatePlan {
  name: string;
  running: number;
  waiting: number;
  /** Slots that are wanted, and that it would serve. */
  wanted: number;
  /** Of those, what its allocations will serve that are there. */
  coming: number;
  /** Places for which allocations are asked. */
  ask: number[];
  /** How many of those, the first, stay without work. */
  permanent: number;
  /** Allocations that wait and are given up: nobody has needed them for a while. */
  withdraw: Allocation[];
  surplus: boolean;
  /** Why it asks for no more than that. */
  why: string;
}

/** What is wanted and no template serves, with what keeps each. */
export interface Unserved {
  requirement: string;
  slots_wanted: number;
  why: { template: string; reasons: string[] }[];
}

export interface Plan {
  templates: TemplatePlan[];
  unserved: Unserved[];
}

/** Slots of an allocation that is there, for what may take so long. */
interface Supply {
  allocation: Allocation;
  slots: number;
  seconds: number;
  isUsed: boolean;
}

/** What is decided of a template, while the groups are gone through. */
class Draft {
  readonly facts: TemplateFacts;
  readonly own: Allocation[];
  readonly #taken: ReadonlySet<number>;
  readonly supply: Supply[];
  /** What its workers declare that are there, else what its file promises. */
  readonly profile: WorkerProfile;
  wanted = 0;
  coming = 0;
  asked = 0;
  /** Slots of those that are asked for, and not needed by what came before. */
  spare = 0;
  isFull = false;

  constructor(facts: TemplateFacts, { now, allocations, workers, unheard }: Facts) {
    this.facts = facts;
    const { name } = facts.template;
    this.own = allocations.filter(({ template }) => template === name);
    const working = workers.filter(({ template }) => template === name);
    this.profile = working.at(-1)?.profile ?? facts.profile;
    this.#taken = new Set([...this.own, ...working].map(({ place }) => place));
    const served = this.own.filter(({ id }) => !unheard.has(id));
    this.supply = served.map((allocation) => this.#supplyOf(allocation, working, now));
  }

  #supplyOf(allocation: Allocation, workers: readonly OwnWorker[], now: number): Supply {
    const { template } = this.facts;
    const { place, ends_at } = allocation;
    const worker = workers.find((each) => each.place === place);
    const left = ends_at === null ? usefulSeconds(template) : ends_at - now - template.ending;
    const free = worker === undefined ? template.slots : worker.slots_total - worker.slots_used;
    return { allocation, slots: worker?.takes === false ? 0 : free, seconds: left, isUsed: false };
  }

  whyNot(group: DemandGroup): string[] {
    return whyNot(this.facts.template, this.profile, group);
  }

  /** Takes of what is there. @returns how many slots are still wanted */
  serve(wanted: number, { seconds }: DemandGroup): number {
    let left = wanted;
    for (const supply of this.supply) {
      if (supply.slots === 0 || supply.seconds < (seconds ?? 0)) continue;
      const taken = Math.min(left, supply.slots);
      if (taken === 0) continue;
      supply.slots -= taken;
      supply.isUsed = true;
      left -= taken;
    }
    this.coming += wanted - left;
    return left;
  }

  /** Asks for more, as far as it may. @returns how many slots are still wanted */
  ask(wanted: number): number {
    const { slots } = this.facts.template;
    const spare = Math.min(wanted, this.spare);
    const left = wanted - spare;
    const needed = Math.ceil(left / slots);
    const asked = Math.min(needed, this.room);
    if (asked < needed) this.isFull = true;
    this.asked += asked;
    const served = Math.min(left, asked * slots);
    this.spare += asked * slots - served - spare;
    return left - served;
  }

  /** Allocations that it may have beyond those that are there and asked for. */
  get room(): number {
    const there = this.own.length + this.asked;
    const { state, template } = this.facts;
    if (state === 'paused') return 0;
    const room = Math.max(0, template.max - there);
    // What serves nothing is no try.
    return state === 'trying' ? Math.min(room, Math.max(0, 1 - this.supply.length - this.asked)) : room;
  }

  plan(now: number): TemplatePlan {
    const { template, context } = this.facts;
    const permanent = Math.min(this.room, Math.max(0, template.min - this.own.length - this.asked));
    const ask = this.#freePlaces(this.asked + permanent);
    const waiting = this.own.filter(({ state }) => state === 'waiting');
    const idle = this.supply.filter(({ allocation, isUsed }) => allocation.state === 'waiting' && !isUsed);
    const mayGo = Math.max(0, this.own.length - template.min);
    // Those that were asked for last go first.
    const surplus = idle.slice(Math.max(0, idle.length - mayGo)).map(({ allocation }) => allocation);
    const isOver = context.surplus_since !== null && now - context.surplus_since >= template.idle;
    return {
      ...{ name: template.name, running: this.own.length - waiting.length, waiting: waiting.length },
      ...{ wanted: this.wanted, coming: this.coming, ask },
      permanent: Math.max(0, Math.min(ask.length, template.min - this.own.length)),
      withdraw: isOver ? surplus : [],
      surplus: surplus.length > 0,
      why: this.#why(now),
    };
  }

  #freePlaces(count: number): number[] {
    const places: number[] = [];
    for (let place = 1; places.length < count; place++) if (!this.#taken.has(place)) places.push(place);
    return places;
  }

  #why(now: number): string {
    const { state, template, context } = this.facts;
    if (state === 'paused') {
      const left = Math.max(0, Math.ceil((context.resumes_at ?? now) - now));
      return `it pauses for another ${left} s: ${context.reason}`;
    }
    if (state === 'trying' && this.wanted > 0)
      return `one at a time until a worker of it works, since: ${context.reason}`;
    if (this.isFull) return `it may have no more than ${template.max} allocations`;
    if (this.wanted === 0) return 'nothing waits that it could run';
    if (this.asked > 0) return 'for what waits';
    const reasons = new Set(this.own.flatMap(({ reason }) => reason ?? []));
    const waits = reasons.size === 0 ? '' : ` (${[...reasons].join(', ')})`;
    return `what is there will serve what waits${waits}`;
  }
}

/**
 * What to ask engines for, and what to give up, so that what would be leased now finds slots: what is there serves first,
 * then templates in the order of their file. Of workers that have a task, none is ever named.
 */
export function planOf(facts: Facts): Plan {
  const drafts = facts.templates.map((template) => new Draft(template, facts));
  const unserved: Unserved[] = [];
  for (const group of facts.demand.groups) {
    const able = drafts.filter((draft) => draft.whyNot(group).length === 0);
    if (able.length === 0) {
      const { requirement, slots_wanted } = group;
      const why = drafts.map((draft) => ({
        template: draft.facts.template.name,
        reasons: draft.whyNot(group),
      }));
      unserved.push({ requirement, slots_wanted, why });
      continue;
    }
    let left = group.slots_wanted;
    for (const draft of able) {
      draft.wanted += group.slots_wanted;
      left = draft.serve(left, group);
    }
    for (const draft of able) left = draft.ask(left);
  }
  return { templates: drafts.map((draft) => draft.plan(facts.now)), unserved };
}
