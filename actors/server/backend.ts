import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Backend } from '../../gateway/backend.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import type { ServerView } from '../../machines/schema/servers.ts';
import type { BackupsView } from '../../machines/schema/views.ts';
import { type Clock, systemClock, type Timing } from '../shared/clock.ts';
import { restrictAccess } from '../shared/file-modes.ts';
import { HearingClock } from '../shared/hearing-clock.ts';
import { idMaker, pooledRandom, type Random } from '../shared/ids.ts';
import { acquireLock } from '../shared/lock.ts';
import { PLACE } from '../shared/place.ts';
import { BlobStore } from './blobs/blob-store.ts';
import { openObjects } from './blobs/open-objects.ts';
import type { S3Location } from './blobs/s3/location.ts';
import { type Core, DEFAULT_SETTINGS, type DeadlineKey, type SupervisorSettings } from './core.ts';
import { Counters } from './counters.ts';
import { logEvents } from './event-log.ts';
import { JobPiecesCache } from './jobs/job-pieces.ts';
import { Measures } from './metrics/measures.ts';
import { notifyMetrics } from './metrics/notify-metrics.ts';
import { objectMetrics } from './metrics/object-metrics.ts';
import { queueMetrics } from './metrics/queue-metrics.ts';
import { retentionMetrics } from './metrics/retention-metrics.ts';
import { storeMetrics } from './metrics/store-metrics.ts';
import { workerMetrics } from './metrics/worker-metrics.ts';
import { Notifier, type Notifying } from './notify/notifier.ts';
import type { Receiver } from './notify/post.ts';
import { LiveReads } from './reads/live-reads.ts';
import { createReads } from './reads/reads.ts';
import { Retention } from './retention/retention.ts';
import { KEEP_ALL, type RetentionSettings } from './retention/settings.ts';
import { ActorDirectory } from './runtime/actor-directory.ts';
import { Deadlines } from './runtime/deadlines.ts';
import { JournaledPeers } from './runtime/journaled-peers.ts';
import { HandOuts } from './scheduling/hand-outs.ts';
import { LongPolls } from './scheduling/long-polls.ts';
import { WorkQueue } from './scheduling/work-queue.ts';
import type { Candidate } from './store/candidate.ts';
import { hasObjects } from './store/check-pages.ts';
import { isDamage, storeDamaged } from './store/damage.ts';
import { openStore } from './store/open-store.ts';
import type { Store, StoreHooks } from './store/store.ts';
import { Supervisor } from './supervisor.ts';

export interface BackendOptions {
  /** Holds the store, unless that is elsewhere, `objects/` and the lock; made when missing. */
  stateDir: string;
  /** Where objects lie; in the state directory where it is left out. */
  objects?: S3Location | undefined;
  /** Whether clients that ask for it fetch them from there. */
  presign?: boolean | undefined;
  /** Where the store is, if not in the state directory: `postgres://…`. */
  store?: string | undefined;
  /** How this server comes to the store, where others may want it as well; a store in use is refused where it is left out. */
  candidate?: Candidate | undefined;
  log: Logger;
  /** Where it is told what is measured; a place of its own where it is left out. */
  metrics?: Metrics | undefined;
  /** Bytes an artifact may have at most. */
  maxArtifactBytes: number;
  /** Bytes of the disk that artifacts leave free. Default 256 MiB. */
  reserveBytes?: number | undefined;
  settings?: Partial<SupervisorSettings>;
  /** How long things stay; for ever where it is left out. */
  retention?: Partial<RetentionSettings> | undefined;
  /** How the schedule of backups goes, where there is one. */
  backups?: (() => BackupsView) | undefined;
  /** Who is told of the ends of jobs; nobody where it is left out. */
  notify?: Receiver | undefined;
  /** Stand-ins for tests: simulated time, seeded randomness, a store that fails. */
  clock?: Clock;
  /** Without it a simulated clock's own time: then the server always hears. */
  hearing?: Timing;
  random?: Random;
  hooks?: StoreHooks;
}

/** In simulated time nobody is kept waiting. */
const UNHURRIED: Timing = { monotonic: () => 0, timer: () => () => {} };

const DEFAULT_RESERVE = 256 * 1024 * 1024;

/** A running cluster state: what the gateway talks to, and the way to stop it. */
export interface RunningBackend {
  readonly backend: Backend;
  /** `recovering`, `serving`, `degraded`, `draining` or `stopped`. */
  readonly state: string;
  /** Null when no message waits and nothing is being written or deleted; else resolves when that is so. */
  readonly idle: Promise<void> | null;
  /**
   * Grants no more leases, answers who waits, commits what is in the mailbox, and lets another server have the store; reads
   * go on. Idempotent.
   */
  drain(): Promise<void>;
  /** Drains and closes the store. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Opens a state directory, replays it and serves it.
 * @throws StartError when the directory is in use, not writable, or newer than this program
 */
export async function startBackend(options: BackendOptions): Promise<RunningBackend> {
  const lock = await acquireLock(join(options.stateDir, 'lock.sqlite'));
  let store: Store | undefined;
  try {
    await restrictAccess(options.stateDir, options.log);
    const opened = await openStore(options.stateDir, options.store, options.hooks, options.candidate);
    store = opened;
    if (await opened.isEmpty()) await warnOfOrphans(options, opened);
    const reserveBytes = options.reserveBytes ?? DEFAULT_RESERVE;
    const driver = await openObjects({
      ...{ store: opened, stateDir: options.stateDir, place: options.objects, log: options.log },
      presigns: options.presign ?? false,
      now: () => (options.clock ?? systemClock).now(),
    });
    const blobs = new BlobStore({
      ...{ stateDir: options.stateDir, driver },
      maxBytes: options.maxArtifactBytes,
      reserveBytes,
      log: options.log,
      isNamed: (sha256) => opened.names(sha256),
      isLeaving: (sha256) => opened.letsGo(sha256),
    });
    await blobs.start();
    const metrics = options.metrics ?? new Metrics();
    const { supervisor, core } = assemble(store, blobs, metrics, options);
    await opened.checkDuring(supervisor.start()).catch(async (fault) => {
      await supervisor.stop();
      throw fault;
    });
    logEvents(supervisor.events, options.log);
    queueMetrics(metrics, core);
    workerMetrics(metrics, core);
    storeMetrics(metrics, {
      ...{ stateDir: options.stateDir, store, reserveBytes },
      get state() {
        return supervisor.state;
      },
      get waiting() {
        return supervisor.waiting;
      },
    });
    objectMetrics(metrics, driver);
    const retention = new Retention(
      {
        ...{ store, blobs, stateDir: options.stateDir, clock: core.clock, log: options.log },
        settings: { ...KEEP_ALL, ...options.retention },
        alone: (work) => supervisor.alone(work),
      },
      supervisor.events,
      options.clock ? UNHURRIED : systemClock,
    );
    retentionMetrics(metrics, retention.progress, store);
    retention.start();
    const notifier = notifierOf(options, core, supervisor);
    notifyMetrics(metrics, notifier?.counts, store, core.clock);
    notifier?.start();
    const reads = createReads(
      store,
      new LiveReads(core, () => supervisor.state),
      core.clock,
      aloneOn(core, supervisor, options.candidate),
      options.backups,
    );
    return running(
      { supervisor, retention, notifier, store, lock },
      {
        send: (message) => supervisor.send(message),
        reads,
        blobs,
        events: supervisor.events,
        inspection: supervisor,
        metrics,
        get state() {
          return supervisor.state;
        },
      },
    );
  } catch (error) {
    await store?.close();
    await lock.release();
    if (isDamage(error)) throw storeDamaged(options.stateDir, (error as Error).message);
    throw store ? store.faultAtStart(error) : error;
  }
}

/** A store that was lost, or another directory than was meant, is noticed here if anywhere. */
async function warnOfOrphans({ stateDir, log }: BackendOptions, { place }: Store): Promise<void> {
  if (!(await hasObjects(join(stateDir, 'objects')))) return;
  log.warn(
    { state: stateDir },
    `${stateDir} holds the bytes of artifacts, and a store without jobs and artifacts: it starts afresh; if its store was lost, stop this server and restore ${place} from a copy`,
  );
}

function assemble(
  store: Store,
  blobs: BlobStore,
  metrics: Metrics,
  options: BackendOptions,
): { supervisor: Supervisor; core: Core } {
  const clock = options.clock ?? systemClock;
  const hearing = options.hearing ?? options.clock ?? new HearingClock(systemClock);
  // Deadlines may only come due once the supervisor runs; it exists by then.
  const due = (key: DeadlineKey) => supervisor.deadlinePassed(key);
  const core: Core = {
    clock,
    hearing,
    settings: {
      ...DEFAULT_SETTINGS,
      version: PACKAGE_VERSION,
      notifies: options.notify !== undefined,
      ...options.settings,
    },
    store,
    blobs,
    log: options.log,
    makeId: idMaker(clock, options.random),
    directory: new ActorDirectory(store),
    queue: new WorkQueue(options.settings, clock),
    deadlines: new Deadlines(hearing, due),
    waits: new Deadlines(clock, due),
    longPolls: new LongPolls(clock),
    jobPieces: new JobPiecesCache(),
    handOuts: new HandOuts(() => supervisor.wake()),
    counters: new Counters(),
    measures: new Measures(metrics, options.log),
    sequences: { job: 1, task: 1, event: 1, lastCreatedAt: 0 },
    peers: new JournaledPeers(),
  };
  const supervisor = new Supervisor(core);
  return { supervisor, core };
}

function notifierOf(
  { notify, random = pooledRandom() }: BackendOptions,
  { store, clock, log }: Core,
  supervisor: Supervisor,
): Notifier | undefined {
  if (notify === undefined) return undefined;
  const alone: Notifying['alone'] = (work) => supervisor.alone(work);
  return new Notifier({ receiver: notify, store, clock, random, log, alone }, supervisor.events);
}

/** The server of a state directory, as those on a shared store are told. */
function aloneOn(
  { clock }: Core,
  { events }: Supervisor,
  candidate: Candidate | undefined,
): () => ServerView {
  const since = clock.now();
  return () => ({
    ...{ id: PLACE, place: PLACE, address: candidate?.address ?? null, version: PACKAGE_VERSION },
    ...{ status: 'leading', since, epoch: null, last_seen_at: clock.now(), event_id: events.lastId },
    differs: [],
  });
}

interface Parts {
  supervisor: Supervisor;
  retention: Retention;
  notifier: Notifier | undefined;
  store: Store;
  lock: { release(): Promise<void> };
}

function running({ supervisor, retention, notifier, store, lock }: Parts, backend: Backend): RunningBackend {
  let drained: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;
  const drain = () => {
    drained ??= Promise.all([retention.stop(), notifier?.stop()])
      .then(() => supervisor.stop())
      .then(() => store.handOver());
    return drained;
  };
  const stop = async () => {
    await drain();
    await store.close();
    await lock.release();
  };
  return {
    backend,
    get state() {
      return supervisor.state;
    },
    get idle() {
      return supervisor.idle ?? retention.running;
    },
    drain,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
