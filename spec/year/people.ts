import { ResponseError } from '../../gateway/client/errors.ts';
import type { JobSpec } from '../../machines/schema/job.ts';
import type { JobView } from '../../machines/schema/views.ts';
import type { Seeded } from '../support/seeded.ts';
import { DAY, HOUR } from './calendar.ts';
import { PEOPLE } from './doors.ts';
import type { Kept } from './kept.ts';
import type { World } from './world.ts';

/** Jobs of half an hour in which people work, and of any other; on the average. */
const PACE = { working: 1.4, otherwise: 0.1 };
/** Part of the jobs that are to be kept for ever. */
const PINNED = 0.004;
/** Tasks of a sweep. */
const SWEEP = [250, 350] as const;

/** The people of a lab: what they submit, cancel, and run once more. */
export class People {
  readonly #world: World;
  readonly #kept: Kept;
  readonly #chance: Seeded;
  /** The last jobs of everybody. */
  readonly #recent: { id: string; who: (typeof PEOPLE)[number] }[] = [];
  #count = 0;
  /** Submissions that were refused, to be made again. */
  #put: { who: (typeof PEOPLE)[number]; body: JobSpec }[] = [];

  constructor(world: World, kept: Kept) {
    this.#world = world;
    this.#kept = kept;
    this.#chance = world.chance('people');
  }

  /** What they do in half an hour. */
  async step(): Promise<void> {
    for (const { who, body } of this.#put.splice(0)) await this.#submit(who, body);
    const pace = this.#areAtWork ? PACE.working : PACE.otherwise;
    for (let left = pace; left > 0; left--)
      if (this.#chance.chance(Math.min(1, left) * 0.95)) await this.submit(this.#size());
    if (this.#recent.length > 0 && this.#chance.chance(this.#areAtWork ? 0.06 : 0.005)) await this.#change();
  }

  sweep(): Promise<void> {
    return this.submit(this.#chance.whole(...SWEEP));
  }

  /** Uploads an input. @returns whether it was taken */
  async upload(file: string): Promise<boolean> {
    const client = this.#world.doors.of('ann');
    return this.#world
      .insist(() => client.upload('uploadArtifact', { file }))
      .then(
        () => true,
        (fault) => {
          if (fault instanceof ResponseError && fault.transient) return false;
          throw fault;
        },
      );
  }

  submit(tasks: number): Promise<void> {
    const chance = this.#chance;
    const name = `job ${++this.#count}`;
    const body: JobSpec = {
      ...{ type: 'demo.run', name, idempotency_key: name, priority: tasks > 100 ? 0 : chance.below(3) },
      ...(chance.chance(0.7) ? byPath(tasks, this.#count) : byContent(tasks, chance.below(400))),
      retry: { max_attempts: 1 + chance.below(3) },
      ...(tasks < 10 && chance.chance(PINNED) ? { keep: 'forever' } : {}),
    };
    return this.#submit(chance.pick(PEOPLE), body);
  }

  async #submit(who: (typeof PEOPLE)[number], body: JobSpec): Promise<void> {
    const { counts } = this.#world;
    try {
      const job = await this.#world.insist(() => this.#world.doors.of(who).call('submitJob', { body }));
      counts.submitted++;
      counts.tasks += (job as JobView).aggregate.num_tasks;
      if (body.keep === 'forever') this.#kept.pin(job.id);
      this.#recent.push({ id: job.id, who });
      if (this.#recent.length > 30) this.#recent.shift();
    } catch (fault) {
      if (!(fault instanceof ResponseError && fault.transient)) throw fault;
      this.#put.push({ who, body });
    }
  }

  async #change(): Promise<void> {
    const { id, who } = this.#chance.pick(this.#recent);
    const verb = this.#chance.pick(['cancelJob', 'retryJob', 'deleteJob'] as const);
    if (verb === 'deleteJob') this.#kept.wish(id);
    const client = this.#world.doors.of(who);
    await this.#world
      .insist(() => client.call(verb, { params: { id } }))
      .catch((fault) => {
        // What has ended cannot be cancelled, what runs or is used not deleted, and what was deleted is gone.
        if (
          !(
            fault instanceof ResponseError &&
            (fault.status === 409 || fault.status === 404 || fault.transient)
          )
        )
          throw fault;
      });
  }

  #size(): number {
    const { chance } = { chance: this.#chance };
    const dice = chance.next();
    if (dice < 0.6) return 1;
    return dice < 0.9 ? chance.whole(2, 8) : chance.whole(10, 40);
  }

  get #areAtWork(): boolean {
    const { now } = this.#world;
    const hour = Math.floor((now % DAY) / HOUR);
    // The first of January 1970 was a Thursday.
    const day = (Math.floor(now / DAY) + 3) % 7;
    return day < 5 && hour >= 8 && hour < 18;
  }
}

const numbers = (tasks: number) => Array.from({ length: tasks }, (_, i) => i);

function byPath(tasks: number, number: number) {
  return {
    pipelines: numbers(tasks).map((i) => ({ kind: 'path' as const, path: `/pipelines/${number}/${i}.yaml` })),
    dataset: { kind: 'shared_path' as const, path: `/data/${number % 20}` },
  };
}

/** What was computed before is used again. */
function byContent(tasks: number, variant: number) {
  return {
    pipelines: numbers(tasks).map((i) => ({
      kind: 'inline_json' as const,
      inline: { steps: [{ variant, i }] },
    })),
    dataset: { kind: 'catalog' as const, catalog_id: 'corn', sha256: 'c'.repeat(64) },
    reuse: 'any' as const,
  };
}
