import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { pino } from 'pino';
import type { SupervisorSettings } from '../../actors/server/core.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { EventView } from '../../machines/schema/views.ts';
import type { Seeded } from '../support/seeded.ts';
import type { StepClock } from '../support/step-clock.ts';
import { asSent } from '../support/views.ts';
import type { WireCall, WireRequest } from '../support/wire.ts';
import { A_MOMENT, type DiskWeather, Life, PROBE_INTERVAL, type ServerCounts } from './life.ts';

/** The real cluster and gateway, with a disk that takes simulated time, and a plug that can be pulled. */
export class PlayedServer {
  disk: DiskWeather = { commit: 0.01, full: false };
  readonly counts: ServerCounts = { commits: 0, failedCommits: 0, crashes: 0, restarts: 0 };
  onEvents: (events: EventView[]) => void = () => {};
  readonly #clock: StepClock;
  readonly #chance: Seeded;
  readonly #settings: Partial<SupervisorSettings>;
  readonly folder: string;
  #life: Life | null = null;

  private constructor(
    clock: StepClock,
    chance: Seeded,
    settings: Partial<SupervisorSettings>,
    folder: string,
  ) {
    this.#clock = clock;
    this.#chance = chance;
    this.#settings = settings;
    this.folder = folder;
  }

  static async make(
    clock: StepClock,
    chance: Seeded,
    settings: Partial<SupervisorSettings>,
    base: string,
  ): Promise<PlayedServer> {
    const server = new PlayedServer(clock, chance, settings, await mkdtemp(join(base, 'jq-simulation-')));
    await server.start();
    return server;
  }

  /** The process is stopped: it hears and says nothing, and nothing in it comes due. */
  freeze(): void {
    this.#life?.freeze();
  }

  thaw(): void {
    this.#life?.thaw();
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get port(): Backend {
    if (!this.#life) throw new Error('the server is down');
    return this.#life.port;
  }

  /** Whether what is in memory is what is in the file. */
  get isIdle(): boolean {
    return this.#life?.isIdle ?? false;
  }

  /** Whether all that is over by now has been dealt with. */
  get isPunctual(): boolean {
    return this.#life?.isPunctual ?? false;
  }

  /** What takes requests; null while the server is down. */
  get wire(): { request(request: WireRequest): WireCall } | null {
    return this.#life;
  }

  async start(): Promise<void> {
    const life = new Life(this.#clock, this.#chance, () => this.disk, this.counts);
    await life.start({
      stateDir: this.folder,
      log: pino({ level: 'silent' }),
      maxArtifactBytes: 1024 * 1024,
      settings: { ...this.#settings, probeInterval: PROBE_INTERVAL },
      clock: life.clock,
      hearing: life.hearing((this.#settings.heartbeatInterval ?? 10) / 4),
      random: (n) => this.#chance.bytes(n),
      hooks: life.faults,
    });
    life.port.events.subscribe((events) => this.onEvents(asSent(events)));
    this.#life = life;
  }

  /** The process is gone, with all that it had in memory; the file is as the last commit left it. */
  async crash(): Promise<void> {
    const life = this.#life;
    this.#life = null;
    this.counts.crashes++;
    await life?.end('crash');
  }

  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = null;
    this.counts.restarts++;
    await life?.end('calmly');
  }

  /**
   * Waits until nothing goes on any more but what waits for simulated time.
   * @returns whether the server had anything to do since the last time: if not, nothing of it can have changed
   */
  async rest(): Promise<boolean> {
    for (let i = 0; i < A_MOMENT; i++) await tick();
    return (await this.#life?.rest()) ?? false;
  }

  async remove(): Promise<void> {
    await this.#life?.end('calmly');
    await rm(this.folder, { recursive: true, force: true });
  }
}
