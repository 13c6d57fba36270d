import type { Backend, Blobs, EventSource } from '../../../gateway/backend.ts';
import { LeaderOnly } from '../../../gateway/leadership.ts';
import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import { systemClock } from '../../shared/clock.ts';
import type { BackendOptions } from '../backend.ts';
import { BlobStore } from '../blobs/blob-store.ts';
import { FolderObjects } from '../blobs/folder-objects.ts';
import { objectHome } from '../blobs/home.ts';
import { s3Objects } from '../blobs/open-objects.ts';
import { assertSharedObjects } from '../blobs/shared-folder.ts';
import { DEFAULT_SETTINGS } from '../core.ts';
import type { Reign } from '../reign.ts';
import type { ReadSessions } from '../store/postgres/read-sessions.ts';
import { FollowedEvents } from './followed-events.ts';
import { StandbyBlobs } from './standby-blobs.ts';
import { standbyReads } from './standby-reads.ts';

/** What a server that stands by answers by itself, from the store and the objects that all share. */
export class StandbyBackend implements Backend {
  readonly metrics: Metrics;
  readonly inspection: Backend['inspection'] = {
    watch: async () => {
      throw new LeaderOnly();
    },
  };
  readonly #reign: Reign;
  readonly #sessions: ReadSessions;
  readonly #reads: Backend['reads'];
  readonly #blobs: Blobs;
  readonly #events: FollowedEvents;

  private constructor(
    options: BackendOptions,
    parts: { reign: Reign; sessions: ReadSessions; metrics: Metrics },
  ) {
    const { reign, sessions, metrics } = parts;
    this.#reign = reign;
    this.#sessions = sessions;
    this.metrics = metrics;
    const share = options.settings?.share ?? DEFAULT_SETTINGS.share;
    const reads = standbyReads(sessions, options.clock ?? systemClock, share);
    this.#reads = reads;
    this.#blobs = new StandbyBlobs(() => blobsOf(options, sessions));
    this.#events = new FollowedEvents({
      page: (after_id, limit) => reads.events({ after_id, limit }),
      last: () => reads.eventIdBefore(0),
    });
    reign.onEvents = (lastId) => this.#events.saw(lastId);
  }

  /**
   * @param parts with sessions that it closes at its end: a try that fails leaves them on the host that answers
   * @throws StartError `objects_refused` where it would take over without the bytes of artifacts
   */
  static async open(
    options: BackendOptions,
    parts: { reign: Reign; sessions: ReadSessions; metrics: Metrics },
  ): Promise<StandbyBackend> {
    const { sessions } = parts;
    await assertSharedObjects(options, sessions);
    const standby = new StandbyBackend(options, parts);
    if (await sessions.isOurs()) standby.#events.saw(await standby.#reads.eventIdBefore(0));
    return standby;
  }

  async send(): Promise<never> {
    throw new LeaderOnly();
  }

  get reads(): Backend['reads'] {
    this.#assertReadable();
    return this.#reads;
  }

  get blobs(): Blobs {
    return this.#blobs;
  }

  get events(): EventSource {
    this.#assertReadable();
    return this.#events;
  }

  get state(): string {
    if (this.#reign.state !== 'standing_by') return this.#reign.state;
    return this.#reign.seesStore ? 'standing_by' : 'degraded';
  }

  /** This server leads: who follows events here goes on with its own. */
  async leads({ events }: Backend): Promise<EventSource> {
    const { givesUp } = this.#reign;
    const end = () => this.#events.close();
    givesUp.addEventListener('abort', end);
    if (givesUp.aborted) end();
    await this.#events.goOnWith(events);
    givesUp.removeEventListener('abort', end);
    return this.#events;
  }

  /** Reads that are under way end first. */
  async close(): Promise<void> {
    this.#events.close();
    await this.#sessions.close();
  }

  /** A store of another version may have other columns. */
  #assertReadable(): void {
    if (!this.#reign.isReadable) throw new LeaderOnly();
  }
}

/** Null where the objects lie elsewhere than this server was told, or nobody knows yet. */
async function blobsOf(options: BackendOptions, { queries }: ReadSessions): Promise<Blobs | null> {
  const { stateDir, objects, log, presign = false, clock = systemClock } = options;
  const home = await objectHome(queries);
  if (home?.url !== objects?.url) return null;
  const driver =
    home && objects
      ? await s3Objects(objects, {
          id: home.id,
          isNew: false,
          presigns: presign,
          log,
          now: () => clock.now(),
        })
      : new FolderObjects(stateDir);
  // Nobody has to be asked what is named.
  const isNamed = async () => true;
  const limits = { maxBytes: options.maxArtifactBytes, reserveBytes: options.reserveBytes ?? 0 };
  return new BlobStore({
    ...{ stateDir, driver, ...limits, log, readsOnly: true },
    ...{ isNamed, isLeaving: async () => false },
  });
}
