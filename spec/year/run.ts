import { existsSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RetentionSettings } from '../../actors/server/retention/settings.ts';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { olderStore, VERSIONS } from '../crash/migration.ts';
import { must } from '../history/history.ts';
import { ROOT } from '../support/program.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';
import { BEGIN, Calendar, type Crash, DAY, type Happening, HOUR, STEP } from './calendar.ts';
import { Fleet } from './fleet.ts';
import { laterVersion, refuses } from './installations.ts';
import { Kept } from './kept.ts';
import { Looks } from './look.ts';
import { type Figures, figuresOf, type Sizes, sizesOf } from './measure.ts';
import { People } from './people.ts';
import { restoreNewest } from './restores.ts';
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

/** Seconds in which a backup is made, however busy the machine is. */
const PATIENCE = 600;
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
  readonly #months: YearOutcome['months'] = [];
  #step = 0;
  #upgrades = 0;
  /** Whether the next backup is to be restored, and whether the server dies in the middle of it. */
  #isRestoreDue = false;
  #diesAtBackup = false;
  /** When a backup is made next, as the server said in one of its lives. */
  #nextBackup = { at: 0, life: 0 };
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
    await this.#restoreLast();
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
    await this.#awaitBackup();
    if (hour === 3) await this.#looks.look();
  }

  async #let(happening: Happening): Promise<void> {
    this.#say(happening.what === 'crash' ? `a crash: ${happening.how}` : happening.what);
    switch (happening.what) {
      case 'crash':
        return this.#crash(happening.how);
      case 'upgrade':
        return this.#upgrade();
      case 'full disk':
        return this.#fillDisk();
      case 'rotation':
        return this.#rotate();
      case 'restore':
        this.#isRestoreDue = true;
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
      this.#diesAtBackup = true;
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

  /** Two get a new token; that of before is valid beside it for an hour, and then refused. */
  async #rotate(): Promise<void> {
    const world = this.#world;
    const { doors, home, now, counts } = world;
    const before = [await doors.rotate('lab', home, now), await doors.rotate('ann', home, now)];
    await world.tell({ do: 'reload' });
    const ask = (client: ClusterClient) => world.insist(() => client.call('getStats'));
    for (const client of [...before, doors.of('lab'), doors.of('ann')]) await ask(client);
    await this.#fleet.step();
    // The program that made the new one took some of the time.
    await world.advance(now + 1.5 * HOUR);
    for (const client of before) {
      const refusal = await ask(client).catch((fault: unknown) => fault);
      const isRefused = refusal instanceof ResponseError && refusal.status === 401;
      must(isRefused, `a token of before is valid after its end: ${refusal}`);
      await client.close();
    }
    counts.rotations++;
  }

  /** Nothing more fits on the server's disk for a quarter of an hour; then somebody makes room. */
  async #fillDisk(): Promise<void> {
    if (!this.#disk) return;
    const world = this.#world;
    const file = join(this.#options.folder, 'input.csv');
    await writeFile(file, '1;2;3\n'.repeat(100_000));
    this.#disk.fill();
    must(!(await this.#people.upload(file)), 'the disk is full, and an upload was taken');
    await this.#whileTimePasses(
      this.#people.submit(3).then(() => this.#fleet.step()),
      HOUR / 4,
    );
    this.#disk.clear();
    await world.advance(world.now + 60);
    must(await this.#people.upload(file), 'there is room, and an upload is refused');
    world.counts.fullDisks++;
  }

  /** What waits for the server's own limits of time needs some. */
  async #whileTimePasses(work: Promise<void>, most: number): Promise<void> {
    let over = false;
    const done = work.finally(() => {
      over = true;
    });
    done.catch(() => {});
    const world = this.#world;
    const end = world.now + most;
    while (world.now < end) await world.advance(world.now + 10);
    await until(
      'what was asked to be answered',
      async () => {
        if (!over) await world.advance(world.now + 10);
        return over;
      },
      PATIENCE,
    );
    await done;
  }

  /** A backup that has begun ends on the day on which it began. */
  async #awaitBackup(): Promise<void> {
    const world = this.#world;
    const { at, life } = this.#nextBackup;
    if (at > world.now && life === world.lives) return;
    if (await this.#backupEnded()) return;
    if (this.#diesAtBackup) {
      this.#diesAtBackup = false;
      const begun = () => existsSync(join(world.backups, 'unfinished'));
      await until('it to begin', async () => begun() || (await this.#backupEnded()), PATIENCE);
      await world.kill();
    }
    const after = await until('the backup to be made', () => this.#backupEnded(), PATIENCE);
    // One that was broken off together with the server keeps the folder for a while; it is tried again.
    if (after.failure) return;
    world.counts.backups++;
    if (!this.#isRestoreDue) return;
    this.#isRestoreDue = false;
    await restoreNewest(world);
  }

  async #backupEnded() {
    const world = this.#world;
    const backups = await this.#backups();
    this.#nextBackup = { at: backups.next_at, life: world.lives };
    return !backups.running && backups.next_at > world.now && backups;
  }

  async #backups() {
    const viewer = this.#world.doors.of('viewer');
    const { backups } = await this.#world.insist(() => viewer.call('getStats'));
    if (!backups) throw new Error('the server makes no backups');
    return backups;
  }

  #measure(): Promise<{ second: Figures; last: Figures }> {
    this.#say('measuring');
    const world = this.#world;
    return figuresOf(world, {
      second: { state: this.#aside, at: this.#secondEnded },
      last: { state: world.state, at: world.now },
    });
  }

  async #restoreLast(): Promise<void> {
    const { next_at } = await this.#backups();
    this.#isRestoreDue = true;
    await this.#world.advance(next_at + 1);
    await this.#awaitBackup();
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
