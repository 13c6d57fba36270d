import type { Logger } from 'pino';
import { startBackend } from '../../actors/server/backend.ts';
import { BackupSchedule } from '../../actors/server/backup/schedule.ts';
import type { Receiver } from '../../actors/server/notify/post.ts';
import type { RetentionSettings } from '../../actors/server/retention/settings.ts';
import type { Share } from '../../actors/server/scheduling/rounds.ts';
import type { StoreHooks } from '../../actors/server/store/store.ts';
import { type Clock, systemClock } from '../../actors/shared/clock.ts';
import { readableByOthers, setPrivateUmask } from '../../actors/shared/file-modes.ts';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { webhookKey } from '../../gateway/auth/webhook-secret.ts';
import { startGateway } from '../../gateway/gateway.ts';
import { isLoopback } from '../../gateway/http/admission/origin.ts';
import type { TransportChoice } from '../../gateway/transport/choose.ts';
import type { TlsFiles } from '../../gateway/transport/tls.ts';
import { dashboardPage } from '../../gateway/ui/page.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { backupInProcess } from './backup-process.ts';
import { type LogConfig, openLog } from './log.ts';
import { TokenUses } from './token-uses.ts';

/** Everything that `jq-server` can be told. Times in seconds. */
export interface ServerConfig extends LogConfig {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** What speaks HTTP; `auto` where it is left out. */
  transport?: TransportChoice | undefined;
  /** Files of its certificate and key; absent: plain HTTP. */
  tls?: TlsFiles | undefined;
  state: string;
  token?: string | undefined;
  tokenFile?: string | undefined;
  principals: readonly string[];
  authFile?: string | undefined;
  corsOrigins: readonly string[];
  allowPythonJobs: boolean;
  leaseTtl: number;
  heartbeatInterval: number;
  workerDeadAfter: number;
  maxRequestBytes: number;
  maxArtifactBytes: number;
  /** Of the disk, left free by artifacts. */
  reserveBytes?: number | undefined;
  /** How free slots are shared, and how many tasks an owner may have under way. */
  share?: Share | undefined;
  maxRunningPerOwner?: number | undefined;
  serviceName: string;
  headerPrefixes: readonly string[];
  /** Addresses of proxies that are believed when they say whom they were asked by. */
  trustProxy?: readonly string[] | undefined;
  /** The path below which proxies serve it, such as `/jq`. */
  basePath?: string | undefined;
  /** Whether the metrics need no credential. */
  metricsOpen?: boolean | undefined;
  /** Where backups are made by themselves, seconds between two, and how many are kept. */
  backups?: { to: string; every: number; keep: number } | undefined;
  /** Who is told of the ends of jobs, and the file of what is signed with. */
  notify?: { url: string; secretFile: string } | undefined;
  /** How long things stay; for ever where it is left out. */
  retention?: Partial<RetentionSettings> | undefined;
  /** For tests: a store that fails or is slow. */
  hooks?: StoreHooks | undefined;
  /** For tests: simulated time. */
  clock?: Clock | undefined;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Whether no credential is configured: everybody has all rights. */
  readonly open: boolean;
  /** The supervisor's state. */
  readonly state: string;
  /** Null when no message waits and nothing is being written or deleted; else resolves when that is so. */
  readonly idle: Promise<void> | null;
  /** Reads the files of credentials, of the certificate and of the secret, again. */
  reload(): Promise<void>;
  /** Opens the log file again. */
  reopenLog(): void;
  /** No new leases, turns under way are committed, streams closed with 1001. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Puts a server together: the cluster on its state directory, and the gateway in front of it.
 * @throws StartError, in words that say what to do
 */
export async function startServer(config: ServerConfig): Promise<RunningServer> {
  setPrivateUmask();
  const auth = Credentials.from(config);
  const notify = config.notify && receiverOf(config.notify);
  const { log, reopen, close } = await openLog(config.serviceName, config);
  await warnOfReaders(config, log);
  const schedule = config.backups && scheduleOf(config.state, config.backups, log, config.clock);
  const cluster = await startBackend({
    stateDir: config.state,
    log,
    maxArtifactBytes: config.maxArtifactBytes,
    reserveBytes: config.reserveBytes,
    settings: {
      leaseTtl: config.leaseTtl,
      heartbeatInterval: config.heartbeatInterval,
      workerDeadAfter: config.workerDeadAfter,
      ...(config.share !== undefined && { share: config.share }),
      ...(config.maxRunningPerOwner !== undefined && { maxRunningPerOwner: config.maxRunningPerOwner }),
    },
    retention: config.retention,
    notify,
    backups: schedule && (() => schedule.view),
    ...(config.hooks ? { hooks: config.hooks } : {}),
    ...(config.clock ? { clock: config.clock } : {}),
  });
  const gateway = await startGateway({
    backend: cluster.backend,
    host: config.host,
    port: config.port,
    transport: config.transport,
    tls: config.tls,
    auth,
    corsOrigins: config.corsOrigins,
    facts: { service: config.serviceName, version: PACKAGE_VERSION, allowPythonJobs: config.allowPythonJobs },
    headerPrefixes: config.headerPrefixes,
    ...(config.basePath !== undefined && { basePath: config.basePath }),
    maxRequestBytes: config.maxRequestBytes,
    maxArtifactBytes: config.maxArtifactBytes,
    metricsOpen: config.metricsOpen,
    trustProxy: config.trustProxy,
    log,
    dashboard: () => dashboardPage(config.serviceName),
  }).catch(async (fault) => {
    await cluster.stop();
    throw fault;
  });
  const { name, why } = gateway.transport;
  log.info({ transport: name }, `transport ${name}: ${why}`);
  log.info({ url: gateway.url, state: config.state, open: auth.open }, 'listening');
  if (auth.open && !isLoopback(config.host)) {
    log.warn(
      'no credential is configured and the server is reachable from the network: everybody has all rights',
    );
  }
  await schedule?.start();
  const uses = new TokenUses(config.state, auth, log);
  let stopped: Promise<void> | null = null;
  const stop = async () => {
    log.info('stopping: what is accepted is committed and answered first');
    await schedule?.stop();
    await cluster.drain();
    // Reads that are under way end before the store does.
    await gateway.stop();
    await cluster.stop();
    await uses.stop();
    log.info('stopped');
    close();
  };
  return {
    url: gateway.url,
    port: gateway.port,
    open: auth.open,
    get state() {
      return cluster.state;
    },
    get idle() {
      return cluster.idle;
    },
    async reload() {
      const faults = [
        await reloaded('credentials', async () => auth.reload(), log),
        config.tls && (await reloaded('the certificate', () => gateway.renewTls(), log)),
        notify && (await reloaded('the secret of notifications', async () => notify.renew(), log)),
      ];
      await warnOfReaders(config, log);
      const fault = faults.find((found) => found !== undefined);
      if (fault) throw fault;
    },
    reopenLog: reopen,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Who is notified, and the way to read the secret again. */
function receiverOf({ url, secretFile }: NonNullable<ServerConfig['notify']>): Receiver & { renew(): void } {
  let key = webhookKey(secretFile);
  return {
    url,
    get key() {
      return key;
    },
    renew() {
      key = webhookKey(secretFile);
    },
  };
}

function scheduleOf(
  state: string,
  { to, every, keep }: NonNullable<ServerConfig['backups']>,
  log: Logger,
  clock: Clock = systemClock,
): BackupSchedule {
  const make = (signal: AbortSignal) => backupInProcess({ state, to, keep }, signal);
  return new BackupSchedule({ to, every, clock, log, make });
}

/** Does one thing of a reload; what goes wrong with it leaves the others alone. */
async function reloaded(what: string, reload: () => Promise<void>, log: Logger): Promise<Error | undefined> {
  try {
    await reload();
    log.info({ audit: 'reload' }, `${what}: read again`);
    return undefined;
  } catch (error) {
    const { message: why } = error as Error;
    log.error({ audit: 'reload', why }, `${what}: not read again, what was before stays`);
    return error as Error;
  }
}

async function warnOfReaders({ authFile, tokenFile, tls, notify }: ServerConfig, log: Logger): Promise<void> {
  const secrets = {
    'auth file': authFile,
    'token file': tokenFile,
    'key of the certificate': tls?.key,
    'secret of notifications': notify?.secretFile,
  };
  for (const [what, file] of Object.entries(secrets)) {
    const mode = file === undefined ? null : await readableByOthers(file);
    if (mode !== null)
      log.warn({ file, mode }, `others can read the ${what} (mode ${mode}): chmod 600 ${file}`);
  }
}
