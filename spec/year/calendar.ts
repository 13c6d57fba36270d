import { Seeded } from '../support/seeded.ts';

export const HOUR = 3600;
export const DAY = 24 * HOUR;
/** Seconds between two looks that everybody takes: at what has ended, what there is to do, and the server. */
export const STEP = HOUR / 2;
/** When a year begins: the first of January 2027, a Friday, at noon; seconds since the epoch. */
export const BEGIN = Date.UTC(2027, 0, 1, 12) / 1000;

/** What kills the server. */
export const CRASHES = ['idle', 'before a commit', 'after a commit', 'backup', 'start'] as const;
export type Crash = (typeof CRASHES)[number];

export type Happening =
  | { what: 'crash'; how: Crash }
  | { what: 'upgrade' | 'full disk' | 'rotation' | 'restore' | 'restart' | 'sweep' };

/** What happens in a year beside its everyday, by the number of the step. */
export class Calendar {
  readonly steps: number;
  readonly #happenings = new Map<number, Happening[]>();

  constructor(days: number, seed: number) {
    const chance = new Seeded(`${seed} calendar`);
    const perDay = DAY / STEP;
    this.steps = Math.round(days * perDay);
    /** So many times, evenly spread, each anywhere in its part of the year. */
    const spread = (times: number, happening: (i: number) => Happening, hour?: number) => {
      const part = this.steps / times;
      for (let i = 0; i < times; i++) {
        const step = Math.floor(i * part + chance.between(0.1, 0.9) * part);
        const day = Math.floor(step / perDay) * perDay;
        this.#add(hour === undefined ? step : day + ((hour + 12) % 24) * 2, happening(i));
      }
    };
    spread(Math.max(CRASHES.length, Math.round(days / 10)), (i) => ({
      what: 'crash',
      how: CRASHES[i % CRASHES.length] as Crash,
    }));
    spread(2, () => ({ what: 'upgrade' }), 6);
    spread(1, () => ({ what: 'full disk' }), 15);
    spread(Math.max(1, Math.round(days / 30)), () => ({ what: 'rotation' }), 9);
    spread(Math.max(1, Math.round(days / 30)), () => ({ what: 'restore' }), 4);
    spread(Math.max(1, Math.round(days / 20)), () => ({ what: 'restart' }), 7);
    // A sweep comes in the middle of a week, so that no month has many more than another.
    const sweeps = Math.max(2, Math.round(days / 10));
    for (let i = 0; i < sweeps; i++) {
      const step = Math.floor(((i + 0.5) * this.steps) / sweeps + chance.between(-0.2, 0.2) * perDay);
      this.#add(step, { what: 'sweep' });
    }
  }

  at(step: number): readonly Happening[] {
    return this.#happenings.get(step) ?? [];
  }

  #add(step: number, happening: Happening): void {
    const at = Math.min(Math.max(step, 2), this.steps - 2);
    this.#happenings.set(at, [...(this.#happenings.get(at) ?? []), happening]);
  }
}
