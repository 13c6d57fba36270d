import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { BackupSchedule } from '../../actors/server/backup/schedule.ts';
import { FailoverBackend } from '../../actors/server/failover-backend.ts';
import type { Receiver } from '../../actors/server/notify/post.ts';
import { systemClock } from '../../actors/shared/clock.ts';
import { setPrivateUmask } from '../../actors/shared/file-modes.ts';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { type Gateway, startGateway } from '../../gateway/gateway.ts';
import { isLoopback } from '../../gateway/http/admission/origin.ts';
import { dashboardPage } from '../../gateway/ui/page.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { backupInProcess } from './backup-process.ts';
import { configurationOf } from './configuration.ts';
import { openLog } from './log.ts';
import type { ServerConfig } from './server-config.ts';
import { type Renewable, receiverOf, renewAll, warnOfReaders } from './server-secrets.ts';
import { TokenUses } from './token-uses.ts';

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Whether no credential is configured: everybody has all rights. */
  readonly open: boolean;
  /** The supervisor's state, or where it stands beside other servers on the same store. */
  readonly state: string;
  /** Who leads instead, for people; null where this one does. */
  readonly others: string | null;
  /** Resolves once it leads. */
  readonly leads: Promise<void>;
  /** Rejects should it end by itself: it cannot take over, or another one has. */
  readonly ended: Promise<void>;
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
 * Puts a server together: the cluster on its state directory, and the gateway in front of it. Where another server has
 * the store, it listens and stands by.
 * @throws StartError, in words that say what to do
 */
export async function startServer(config: ServerConfig): Promise<RunningServer> {
  setPrivateUmask();
  const auth = Credentials.from(config);
  const notify = config.notify && receiverOf(config.notify);
  const { log, reopen, close } = await openLog(config.serviceName, config);
  await warnOfReaders(config, log);
  const schedule = scheduleOf(config, log);
  const cluster = await openCluster(config, log, auth, schedule, notify);
  const gateway = await openGateway(config, log, cluster, auth).catch(async (fault) => {
    await cluster.stop();
    throw fault;
  });
  cluster.listensAt(config.advertise ?? addressOf(config.host, gateway.url));
  announce(config, log, gateway, auth.open);
  await schedule?.start();
  const uses = new TokenUses(config.state, auth, log);
  const renewable: Renewable[] = [
    { what: 'credentials', renew: () => auth.reload() },
    ...(config.tls ? [{ what: 'the certificate', renew: () => gateway.renewTls() }] : []),
    ...(notify ? [{ what: 'the secret of notifications', renew: () => notify.renew() }] : []),
  ];
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
  const stopOnce = () => {
    stopped ??= stop();
    return stopped;
  };
  // Streams and requests that wait are ended as at any other end; their clients find the one that leads.
  const ended = cluster.ended.catch(async (fault: unknown) => {
    if (stopped === null) log.error(`ends: ${(fault as Error).message}`);
    await stopOnce();
    throw fault;
  });
  ended.catch(() => {});
  return {
    url: gateway.url,
    port: gateway.port,
    open: auth.open,
    ended,
    leads: cluster.leads,
    get state() {
      return cluster.state;
    },
    get others() {
      return cluster.others;
    },
    get idle() {
      return cluster.idle;
    },
    async reload() {
      await renewAll(renewable, log).finally(() => warnOfReaders(config, log));
    },
    reopenLog: reopen,
    stop: stopOnce,
  };
}

function scheduleOf({ state, backups, clock }: ServerConfig, log: Logger): BackupSchedule | undefined {
  if (!backups) return undefined;
  const { to, every, keep } = backups;
  const make = (signal: AbortSignal) => backupInProcess({ state, to, keep }, signal);
  return new BackupSchedule({ to, every, clock: clock ?? systemClock, log, make });
}

function openCluster(
  config: ServerConfig,
  log: Logger,
  auth: Credentials,
  schedule: BackupSchedule | undefined,
  notify: Receiver | undefined,
): Promise<FailoverBackend> {
  return FailoverBackend.begin({
    stateDir: config.state,
    objects: config.objects,
    presign: config.presign,
    store: config.store,
    configuration: () => configurationOf(config, auth),
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
}

function openGateway(
  config: ServerConfig,
  log: Logger,
  cluster: FailoverBackend,
  auth: Credentials,
): Promise<Gateway> {
  return startGateway({
    backend: cluster.backend,
    leadership: cluster.leadership,
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
  });
}

/** What other machines can use, where it listens to all of them. */
function addressOf(host: string, url: string): string {
  const address = new URL(url);
  if (host === '0.0.0.0' || host === '::') address.hostname = hostname();
  return address.href.replace(/\/$/, '');
}

function announce({ host, state }: ServerConfig, log: Logger, gateway: Gateway, open: boolean): void {
  const { name, why } = gateway.transport;
  log.info({ transport: name }, `transport ${name}: ${why}`);
  log.info({ url: gateway.url, state, open }, 'listening');
  if (!open || isLoopback(host)) return;
  log.warn(
    'no credential is configured and the server is reachable from the network: everybody has all rights',
  );
}
