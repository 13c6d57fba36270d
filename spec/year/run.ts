import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { RetentionSettings } from '../../actors/server/retention/settings.ts';
import { olderStore, VERSIONS } from '../crash/migration.ts';
import { ROOT } from '../support/program.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { Backups } from './backups.ts';
import { BEGIN, Calendar, type Crash, DAY, type Happening, HOUR, STEP } from './calendar.ts';
import { Fleet } from './fleet.ts';
import { fillDisk, rotate } from './hardships.ts';
import { laterVersion, refuses } from './installations.ts';
import { Kept } from './kept.ts';
import { Looks } from './look.ts';
import { type Figures, figuresOf, type Sizes, sizesOf } from './measure.ts';
import { People } from './people.ts';
import { type Counts, World } from './world.ts';

export interface YearOptions {
  seed: number;
  days: number;
  /** An empty folder for all that the year needs beside the server's disk. */
  folder: string;
  /** Whether anything is ever deleted. */
  isCleared: boolean;
  /** Whether the states of the second month's end and of the last are measured, which takes a while. */
  isMeasured: boolean;
  /** Told what happens. */
  onLine?: ((line: string) => void) | undefined;
  /** Called with the state directory after each crash; to see that a loss is found. */
  afterCrash?: ((state: string) => Promise<void>) | undefined;
}

export interface YearOutcome {
  days: number;
  counts: Counts;
  /** At the end of each month, a twelfth of the year. */
  months: (Sizes & { memory: number })[];
  /** Of the state of the second month's end and that of the last; null where they were not measured. */
  figures: { second: Figures; last: Figures } | null;
  /** Why the disk was never full; null when it was. */
  withoutFullDisk: string | null;
}

/** Mebibytes of the server's disk. */
const DISK = 1024;

/** Seconds for which jobs are kept after their end: a month, a twelfth of the days; 0: for ever. */
const keepJobsOf = ({ days, isCleared }: YearOptions) => (isCleared ? (days / 12) * DAY : 0);

/** The rest goes before the jobs, so that by the end of the second month everything is as it will be. */
function retentionOf(options: YearOptions): Partial<RetentionSettings> {
  const keepJobs = keepJobsOf(options);
  return {
    ...{ keepJobs, keepArtifacts: keepJobs / 2, keepLogs: keepJobs / 4, keepEvents: keepJobs / 2 },
    forgetWorkers: keepJobs,
  };
}

/** A year in the life of one server. @throws Error when a promise of the service is broken */
export async function liveThroughYear(options: YearOptions): Promise<YearOutcome> {
  const { seed, folder, afterCrash } = options;
  const disk = SmallDisk.mount(DISK);
  const unmount = () => disk?.unmount();
  process.once('exit', unmount);
  try {
    const world = await World.make({
      ...{ seed, folder, afterCrash, state: join(disk?.path ?? folder, 'state'), home: ROOT },
      config: {
        backups: { to: join(folder, 'backups'), every: 2 * DAY, keep: 7 },
        retention: retentionOf(options),
      },
    });
    try {
      return await new Year(options, disk, world).run();
    } finally {
      await world.close();
    }
  } finally {
    process.off('exit', unmount);
    unmount();
  }
}

class Year {
  readonly #options: YearOptions;
  readonly #disk: SmallDisk | null;
  readonly #calendar: Calendar;
  readonly #world: World;
  readonly #people: People;
  readonly #fleet: Fleet;
  readonly #looks: Looks;
  readonly #backups: Backups;
  readonly #months: YearOutcome['months'] = [];
  #step = 0;
  #upgrades = 0;
  #secondEnded = 0;

  constructor(options: YearOptions, disk: SmallDisk | null, world: World) {
    this.#options = options;
    this.#disk = disk;
    this.#calendar = new Calendar(options.days, options.seed);
    this.#world = world;
    const kept = new Kept(world.history, keepJobsOf(options));
    world.onEvent = (event) => {
      kept.take(event);
      if (event.type === 'job_deleted') world.counts.deleted++;
    };
    this.#people = new People(world, kept);
    this.#fleet = new Fleet(world);
    this.#looks = new Looks(world, kept);
    this.#backups = new Backups(world);
  }

  async run(): Promise<YearOutcome> {
    const world = this.#world;
    const { days } = this.#options;
    const { steps } = this.#calendar;
    // The year begins with a store that the first program left behind.
    await olderStore(world.state, VERSIONS[0] as number);
    await world.start();
    await this.#fleet.begin();
    for (this.#step = 1; this.#step <= steps; this.#step++) {
      await this.#halfAnHour();
      const months = Math.floor((12 * this.#step) / steps);
      if (months > this.#months.length) await this.#endOfMonth(months);
    }
    await this.#looks.look();
    await this.#backups.restoreOneMore();
    await world.stop();
    const figures = this.#options.isMeasured ? await this.#measure() : null;
    return {
      days,
      counts: world.counts,
      months: this.#months,
      figures,
      withoutFullDisk: this.#disk ? null : 'this process may not mount a file system of its own',
    };
  }

  /** Where the state of the second month's end is kept. */
  get #aside(): string {
    return join(this.#options.folder, 'second-month');
  }

  async #halfAnHour(): Promise<void> {
    const world = this.#world;
    const now = BEGIN + this.#step * STEP;
    await world.advance(now);
    for (const happening of this.#calendar.at(this.#step)) await this.#let(happening);
    await this.#people.step();
    await this.#fleet.step();
    const hour = (now % DAY) / HOUR;
    if (hour === 18) await this.#fleet.evening();
    if (hour === 8) await this.#fleet.morning();
    await this.#backups.awaitOne();
    if (hour === 3) await this.#looks.look();
  }

  async #let(happening: Happening): Promise<void> {
    const world = this.#world;
    this.#say(happening.what === 'crash' ? `a crash: ${happening.how}` : happening.what);
    switch (happening.what) {
      case 'crash':
        return this.#crash(happening.how);
      case 'upgrade':
        return this.#upgrade();
      case 'full disk':
        return this.#disk ? fillDisk(world, this.#disk, this.#people, this.#fleet) : undefined;
      case 'rotation':
        return rotate(world, this.#fleet);
      case 'restore':
        this.#backups.isRestoreDue = true;
        return;
      case 'restart':
        return this.#restart();
      case 'sweep':
        return this.#people.sweep();
    }
  }

  async #crash(how: Crash): Promise<void> {
    const world = this.#world;
    const commits = world.chance(`crash ${this.#step}`).whole(1, 20);
    if (how === 'before a commit') return world.tell({ do: 'die', when: 'before', commits });
    if (how === 'after a commit') return world.tell({ do: 'die', when: 'after', commits });
    if (how === 'backup') {
      this.#backups.killsServer = true;
      return;
    }
    await world.kill();
    // Once more, before it has served anybody.
    if (how === 'start') await world.kill();
  }

  async #upgrade(): Promise<void> {
    const world = this.#world;
    const before = world.home;
    await world.stop();
    world.home = await laterVersion(this.#options.folder, ++this.#upgrades);
    await world.start();
    world.counts.upgrades++;
    await world.stop();
    await refuses(before, world.state, world.now);
    await world.start();
  }

  async #restart(): Promise<void> {
    await this.#world.stop();
    await this.#world.start();
    this.#world.counts.restarts++;
    await this.#fleet.reboot();
  }

  #measure(): Promise<{ second: Figures; last: Figures }> {
    this.#say('measuring');
    const world = this.#world;
    return figuresOf(world, {
      second: { state: this.#aside, at: this.#secondEnded },
      last: { state: world.state, at: world.now },
    });
  }

  async #endOfMonth(month: number): Promise<void> {
    const world = this.#world;
    const { rss } = await world.server.memory();
    const sizes = { ...(await sizesOf(world.state)), memory: rss / 2 ** 20 };
    this.#months.push(sizes);
    this.#say(`month ${month}: ${JSON.stringify(sizes)}`);
    if (month !== 2 || !this.#options.isMeasured) return;
    await world.stop();
    this.#secondEnded = world.now;
    await cp(world.state, this.#aside, { recursive: true });
    await world.start();
  }

  #say(text: string): void {
    const date = new Date(this.#world.now * 1000).toISOString().slice(0, 16);
    this.#options.onLine?.(`${date} ${text}`);
  }
}
