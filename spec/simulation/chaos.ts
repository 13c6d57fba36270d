import type { Seeded } from '../support/seeded.ts';
import type { StepClock } from '../support/step-clock.ts';
import type { PlayedAgent } from './agent.ts';
import { CALM, type PlayedLine, type Weather } from './network.ts';
import type { PlayedServer } from './server.ts';

export interface ChaosCounts {
  crashes: number;
  restarts: number;
  fullDisks: number;
  slowDisks: number;
  partitions: number;
  storms: number;
  freezes: number;
  standstills: number;
  suspensions: number;
  workerCrashes: number;
  copies: number;
  illnesses: number;
  jumps: number;
  /** Servers from which another one took the store, while they believed that they led. */
  usurpations: number;
}

interface ChaosParts {
  clock: StepClock;
  chance: Seeded;
  server: PlayedServer;
  agents: readonly PlayedAgent[];
  lines: readonly PlayedLine[];
  /**
   * What goes wrong: everything; or only that the server, or all, stand still; or only that workers are ill or copied; or only
   * that servers take the store from each other, beside lines that break.
   */
  faults: 'all' | 'stalls' | 'workers' | 'leaders';
  /** By how much everything is slower than with a heartbeat of ten seconds. */
  slowness: number;
  /** Does something that takes real time, before the next step. */
  soon(action: () => Promise<void>): void;
  afterCrash(): Promise<void>;
  note(line: string): void;
}

export const USUAL: Weather = { delay: 0.3, loss: 0.01, cut: 0.01, twice: 0.01 };
const STORM: Weather = { delay: 8, loss: 0.25, cut: 0.2, twice: 0.2 };
const DISK = { commit: 0.02, full: false };
const JUMPS = [-3600, 3600, -315_576_000, 315_576_000] as const;

/** Everything that goes wrong, one thing after the other and often several at a time. */
export class Chaos {
  readonly counts: ChaosCounts = {
    ...{ crashes: 0, restarts: 0, fullDisks: 0, slowDisks: 0, partitions: 0 },
    ...{ storms: 0, freezes: 0, standstills: 0, suspensions: 0, workerCrashes: 0 },
    ...{ copies: 0, illnesses: 0, jumps: 0, usurpations: 0 },
  };
  readonly #parts: ChaosParts;
  #over = false;
  #isStalled = false;
  readonly #weather: Weather;
  #kinds: (() => void)[];

  constructor(parts: ChaosParts) {
    this.#parts = parts;
    const stalls = [() => this.#stall('standstills'), () => this.#stall('suspensions')];
    const ofWorkers = [() => this.#copyWorker(), () => this.#sicken()];
    this.#weather = parts.faults === 'all' ? USUAL : CALM;
    this.#kinds = [
      ...stalls,
      ...ofWorkers,
      () => this.#takeServerDown('crash'),
      () => this.#takeServerDown('crash'),
      () => this.#takeServerDown('stop'),
      () => this.#worsenDisk({ commit: 0.02, full: true }, 90),
      () => this.#worsenDisk({ commit: 3, full: false }, 300),
      () => this.#breakLine(),
      () => this.#breakLine(),
      () => this.#storm(),
      () => this.#freeze(),
      () => this.#freeze(),
      () => this.#crashWorker(),
      () => this.#jump(),
    ];
    const ofLeaders = [() => this.#usurp(), () => this.#usurp()];
    // Where only one process can have the store, what a seed does is what it always did.
    if (parts.server.canBeUsurped) this.#kinds.push(...ofLeaders);
    if (parts.faults === 'leaders')
      this.#kinds = [...ofLeaders, ...stalls.slice(0, 1), () => this.#breakLine()];
    if (parts.faults === 'stalls') this.#kinds = stalls;
    if (parts.faults === 'workers') this.#kinds = ofWorkers;
  }

  start(): void {
    for (const line of this.#parts.lines) line.weather = this.#weather;
    this.#parts.server.disk = DISK;
    this.#next();
  }

  /** Nothing goes wrong any more, and what is broken is mended. */
  end(): void {
    this.#over = true;
    const { lines, server, agents, soon } = this.#parts;
    for (const line of lines) {
      line.weather = CALM;
      line.broken = null;
    }
    server.disk = DISK;
    server.thaw();
    for (const agent of agents) {
      agent.time.thaw();
      agent.ill = null;
      if (!agent.isRunning) agent.start();
    }
    soon(() => server.retire());
    soon(() => this.#bringServerUp());
  }

  #next(): void {
    const { clock, chance } = this.#parts;
    clock.timer(this.#upTo(400), () => {
      if (this.#over) return;
      chance.pick(this.#kinds)();
      this.#next();
    });
  }

  /** Seconds until something begins or ends. */
  #upTo(longest: number): number {
    const { chance, slowness } = this.#parts;
    return chance.between(1, longest * slowness);
  }

  /** What goes wrong for a while, unless the chaos ends before. */
  #later(seconds: number, mend: () => void): void {
    this.#parts.clock.timer(seconds, () => {
      if (!this.#over) mend();
    });
  }

  #takeServerDown(how: 'crash' | 'stop'): void {
    const { server, soon, note, afterCrash } = this.#parts;
    if (!server.isUp) return;
    this.counts[how === 'crash' ? 'crashes' : 'restarts']++;
    note(`the server: ${how}`);
    soon(async () => {
      await server[how]();
      if (how === 'crash') await afterCrash();
    });
    this.#later(this.#upTo(60), () => soon(() => this.#bringServerUp()));
  }

  async #bringServerUp(): Promise<void> {
    if (this.#parts.server.isUp) return;
    this.#parts.note('the server: start');
    await this.#parts.server.start();
  }

  #worsenDisk(disk: { commit: number; full: boolean }, longest: number): void {
    const { server, note } = this.#parts;
    this.counts[disk.full ? 'fullDisks' : 'slowDisks']++;
    note(`the disk: ${JSON.stringify(disk)}`);
    server.disk = disk;
    this.#later(this.#upTo(longest), () => {
      server.disk = DISK;
    });
  }

  #breakLine(): void {
    const { lines, chance, note } = this.#parts;
    const line = chance.pick(lines);
    this.counts.partitions++;
    line.broken = chance.pick(['refuses', 'swallows'] as const);
    note(`line ${lines.indexOf(line)} ${line.broken}`);
    this.#later(this.#upTo(600), () => {
      line.broken = null;
    });
  }

  #storm(): void {
    const { lines, chance, note } = this.#parts;
    this.counts.storms++;
    note('a storm');
    for (const line of lines) if (chance.chance(0.7)) line.weather = STORM;
    this.#later(this.#upTo(600), () => {
      for (const line of lines) line.weather = USUAL;
    });
  }

  #freeze(): void {
    const { agents, chance, note } = this.#parts;
    const agent = chance.pick(agents);
    this.counts.freezes++;
    note(`${agent.name} freezes`);
    agent.time.freeze();
    this.#later(this.#upTo(900), () => agent.time.thaw());
  }

  /** The server is stopped for a while, alone or, as on one machine that is suspended, together with its workers. */
  #stall(what: 'standstills' | 'suspensions'): void {
    const { server, agents, note } = this.#parts;
    // One that ended amid another would leave the workers behind, which is a fault of its own.
    if (this.#isStalled) return;
    this.#isStalled = true;
    this.counts[what]++;
    note(`the server${what === 'suspensions' ? ' and its workers' : ''}: stopped`);
    const stalled = what === 'suspensions' ? agents : [];
    server.freeze();
    for (const { time } of stalled) time.freeze();
    this.#later(this.#upTo(900), () => {
      this.#isStalled = false;
      server.thaw();
      for (const { time } of stalled) time.thaw();
    });
  }

  /** The server is cut off from its store, or stopped for a while: another one leads, and it does not know. */
  #usurp(): void {
    const { server, soon, chance, note } = this.#parts;
    if (!server.canBeUsurped) return;
    this.counts.usurpations++;
    if (chance.chance(0.5)) this.#stall('standstills');
    note('another server takes over');
    soon(() => server.usurp());
  }

  #crashWorker(): void {
    const { agents, chance, note } = this.#parts;
    const agent = chance.pick(agents);
    if (!agent.isRunning) return;
    this.counts.workerCrashes++;
    note(`${agent.name} crashes`);
    agent.crash();
    this.#later(this.#upTo(200), () => {
      if (!agent.isRunning) agent.start();
    });
  }

  /** A worker's state directory is put in the place of another's, and both go on. */
  #copyWorker(): void {
    const { agents, chance, note } = this.#parts;
    const [original, copy] = [chance.pick(agents), chance.pick(agents)];
    if (original === copy) return;
    this.counts.copies++;
    note(`${copy.name} becomes a copy of ${original.name}`);
    if (copy.isRunning) copy.crash();
    copy.takeDiskOf(original);
    copy.start();
  }

  /** A worker's machine is broken for a while: each analysis there fails quickly, and by its fault. */
  #sicken(): void {
    const { agents, chance, note } = this.#parts;
    const agent = chance.pick(agents);
    this.counts.illnesses++;
    note(`${agent.name} falls ill`);
    agent.ill = 'no space left on its disk';
    this.#later(this.#upTo(3600), () => {
      agent.ill = null;
    });
  }

  #jump(): void {
    const { clock, chance, note } = this.#parts;
    const seconds = chance.pick(JUMPS);
    this.counts.jumps++;
    note(`the wall clock jumps by ${seconds} s`);
    clock.jump(seconds);
  }
}
