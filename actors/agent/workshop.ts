import PQueue from 'p-queue';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { type AttemptRef, runKey } from '../../machines/run.ts';
import { Guard } from './child/guard.ts';
import type { Runner, Settings } from './config.ts';
import { Outbox } from './delivery/outbox.ts';
import { Reports } from './delivery/reports.ts';
import { eventSender } from './delivery/send-events.ts';
import { childEnvironment } from './environment.ts';
import { Artifacts } from './inputs/artifacts.ts';
import { InputCache } from './inputs/cache/cache.ts';
import { Catalog } from './inputs/catalog/catalog.ts';
import type { Persistence } from './link/persist.ts';
import { WakeWatch } from './link/wake-watch.ts';
import { Room } from './room.ts';
import { partsOf } from './runners/parts.ts';
import { WarmRunner } from './warm/warm-runner.ts';

/** Uploads at the same time, over all tasks: more would only share the line. */
const UPLOADS = 4;

const GIB = 1024 ** 3;

/** What all runs of a worker share. */
export class Workshop {
  readonly settings: Settings;
  readonly client: ClusterClient;
  readonly reports: Reports;
  readonly outbox: Outbox;
  readonly guard: Guard;
  readonly cache: InputCache;
  readonly artifacts: Artifacts;
  readonly catalog: Catalog | null;
  readonly wake: WakeWatch;
  /** Of the processes of tasks; to read it anew for each would cost more than to start some of them. */
  readonly environment = childEnvironment();
  readonly uploads = new PQueue({ concurrency: UPLOADS });
  readonly #rooms = new Map<string, Room>();
  readonly #parts = new Map<string, string[]>();
  readonly #warm = new Map<string, WarmRunner>();

  /** @param onWake told when this program stood still for a while */
  constructor(settings: Settings, client: ClusterClient, onWake: () => void) {
    this.wake = new WakeWatch(onWake);
    this.settings = settings;
    this.client = client;
    this.reports = new Reports(client);
    this.outbox = new Outbox(settings.state);
    this.guard = new Guard(settings.log);
    const { catalog, cacheDir, cacheGb, zipLimits, log } = settings;
    const cache = new InputCache({ folder: cacheDir, limitBytes: cacheGb * GIB, log });
    this.cache = cache;
    this.artifacts = new Artifacts({ client, cache, zipLimits });
    this.catalog = catalog === undefined ? null : new Catalog({ source: catalog, cache, zipLimits });
  }

  /** @throws StartFault where the cache of inputs cannot be written */
  async open(): Promise<void> {
    await this.cache.open();
    for (const { library, command } of this.settings.runners)
      this.#parts.set(library, await partsOf(command));
    this.guard.start();
    for (const limit of this.guard.limits) this.settings.log.warn({ limit }, 'not promised on this system');
    this.wake.start();
  }

  /** The files that the runner of a library is made of, as far as its command names them. */
  readonly partsOf = (library: string): readonly string[] => this.#parts.get(library) ?? [];

  /** What keeps a runner warm; null where its attempts start cold. A fork is safe on Linux alone. */
  warm(runner: Runner): WarmRunner | null {
    const { cold, state, log } = this.settings;
    if (cold || !runner.serves || process.platform !== 'linux') return null;
    const known = this.#warm.get(runner.library);
    if (known) return known;
    const warm = new WarmRunner({ runner, state, guard: this.guard, log });
    this.#warm.set(runner.library, warm);
    return warm;
  }

  /** The room of an attempt, the same at every call until `forget`. */
  room(ref: AttemptRef): Room {
    const key = runKey(ref);
    const known = this.#rooms.get(key);
    if (known) return known;
    const room = new Room({
      state: this.settings.state,
      ref,
      mark: this.guard.newMark(),
      maxLogBytes: this.settings.maxLogBytes,
      sendEvents: eventSender(this.reports, ref),
    });
    this.#rooms.set(key, room);
    return room;
  }

  forget(ref: AttemptRef): void {
    this.#rooms.delete(runKey(ref));
  }

  persistence(ref: AttemptRef, signal: AbortSignal): Persistence {
    const { backoff: limits, random } = this.settings;
    return { backoff: { limits, random }, log: this.logOf(ref), signal };
  }

  logOf(ref: AttemptRef) {
    return this.settings.log.child({ task_id: ref.task_id, attempt: ref.attempt });
  }

  /** Leaves all rooms as they are on disk. */
  async close(): Promise<void> {
    this.wake.stop();
    for (const room of this.#rooms.values()) await room.leave();
    this.#rooms.clear();
    await Promise.all([...this.#warm.values()].map((warm) => warm.close()));
    this.catalog?.close();
    await this.cache.close();
    this.guard.stop();
  }
}
