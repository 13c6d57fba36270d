import PQueue from 'p-queue';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { type AttemptRef, attemptKey } from '../../machines/attempt/attempt.ts';
import { AttemptDirectory } from './attempt/attempt-directory.ts';
import { Reaper } from './child/reaper.ts';
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
import { WorkerMetrics } from './metrics/worker-metrics.ts';
import { RunnerFiles } from './runners/runner-files.ts';
import { WarmRunner } from './warm/warm-runner.ts';

/** Uploads at the same time, over all tasks: more would only share the line. */
const UPLOADS = 4;

const GIB = 1024 ** 3;

/** What all attempts of a worker share. */
export class WorkerContext {
  readonly settings: Settings;
  readonly client: ClusterClient;
  readonly reports: Reports;
  readonly outbox: Outbox;
  readonly reaper: Reaper;
  readonly cache: InputCache;
  readonly artifacts: Artifacts;
  readonly catalog: Catalog | null;
  readonly wake: WakeWatch;
  /** Aborted once this program takes no more tasks, since it has to end. */
  readonly toldToEnd = new AbortController();
  /** Of the processes of tasks; to read it anew for each would cost more than to start some of them. */
  readonly environment = childEnvironment();
  readonly metrics = new WorkerMetrics();
  readonly uploads = new PQueue({ concurrency: UPLOADS });
  readonly #directories = new Map<string, AttemptDirectory>();
  readonly #files = new Map<string, RunnerFiles>();
  readonly #warm = new Map<string, WarmRunner>();

  /** @param onWake told when this program stood still for a while */
  constructor(settings: Settings, client: ClusterClient, onWake: () => void) {
    this.wake = new WakeWatch(onWake);
    this.settings = settings;
    this.client = client;
    this.reports = new Reports(client);
    this.outbox = new Outbox(settings.state);
    this.reaper = new Reaper(settings.log);
    const { catalog, cacheDir, cacheGb, zipLimits, log } = settings;
    const cache = new InputCache({ folder: cacheDir, limitBytes: cacheGb * GIB, log });
    this.cache = cache;
    this.artifacts = new Artifacts({ client, cache, zipLimits });
    this.catalog = catalog === undefined ? null : new Catalog({ source: catalog, cache, zipLimits });
  }

  /** @throws StartError where the cache of inputs cannot be written */
  async open(): Promise<void> {
    await this.cache.open();
    for (const { library, command } of this.settings.runners)
      this.#files.set(library, await RunnerFiles.of(command));
    this.reaper.start();
    for (const limit of this.reaper.limits) this.settings.log.warn({ limit }, 'not promised on this system');
    this.wake.start();
  }

  /** The files that the runner of a library is made of, as far as its command names them. */
  readonly filesOf = (library: string): RunnerFiles | undefined => this.#files.get(library);

  /** What keeps a runner warm; null where its attempts start cold. A fork is safe on Linux alone. */
  warm(runner: Runner): WarmRunner | null {
    const { cold, state, log } = this.settings;
    if (cold || !runner.serves || process.platform !== 'linux') return null;
    const known = this.#warm.get(runner.library);
    if (known) return known;
    const warm = new WarmRunner({ runner, state, reaper: this.reaper, log });
    this.#warm.set(runner.library, warm);
    return warm;
  }

  /** Processes that keep runners warm, by library. */
  get warmHosts(): Map<string, number> {
    return new Map([...this.#warm].map(([library, { hosts }]) => [library, hosts]));
  }

  /** The directory of an attempt, the same at every call until `forget`. */
  directory(ref: AttemptRef): AttemptDirectory {
    const key = attemptKey(ref);
    const known = this.#directories.get(key);
    if (known) return known;
    const directory = new AttemptDirectory({
      state: this.settings.state,
      ref,
      tag: this.reaper.newTag(),
      cgroups: this.reaper.cgroups,
      maxLogBytes: this.settings.maxLogBytes,
      sendEvents: eventSender(this.reports, ref),
    });
    this.#directories.set(key, directory);
    return directory;
  }

  forget(ref: AttemptRef): void {
    this.#directories.delete(attemptKey(ref));
  }

  persistence(ref: AttemptRef, signal: AbortSignal): Persistence {
    const { backoff: limits, random } = this.settings;
    return { backoff: { limits, random }, log: this.logOf(ref), signal };
  }

  logOf(ref: AttemptRef) {
    return this.settings.log.child({ task_id: ref.task_id, attempt: ref.attempt });
  }

  /** Leaves all directories as they are on disk. */
  async close(): Promise<void> {
    this.wake.stop();
    for (const directory of this.#directories.values()) await directory.leave();
    this.#directories.clear();
    await Promise.all([...this.#warm.values()].map((warm) => warm.close()));
    this.catalog?.close();
    await this.cache.close();
    this.reaper.stop();
  }
}
