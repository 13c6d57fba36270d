import { createHash } from 'node:crypto';
import type { Credentials } from '../../gateway/auth/credentials.ts';
import type { Configuration } from '../../machines/configuration.ts';
import type { ServerConfig } from './server-config.ts';

/**
 * What a server is told that the others on its store have to be told, too. Where it listens, its certificate, its log, the room on its disk
 * and the proxies in front of it are its own.
 */
export function configurationOf(config: ServerConfig, auth: Credentials): Configuration {
  const flags: Record<string, unknown> = {
    '--lease-ttl': config.leaseTtl,
    '--heartbeat-interval': config.heartbeatInterval,
    '--worker-dead-after': config.workerDeadAfter,
    '--max-request-mb': config.maxRequestBytes,
    '--max-artifact-mb': config.maxArtifactBytes,
    '--share': config.share ?? 'fifo',
    '--max-running-per-owner': config.maxRunningPerOwner,
    '--service-name': config.serviceName,
    '--header-prefix': config.headerPrefixes,
    '--cors-origin': config.corsOrigins,
    '--allow-python-jobs': config.allowPythonJobs,
    '--presign': config.presign ?? false,
    '--keep-jobs': config.retention?.keepJobs,
    '--keep-artifacts': config.retention?.keepArtifacts,
    '--keep-logs': config.retention?.keepLogs,
    '--keep-events': config.retention?.keepEvents,
    '--forget-workers': config.retention?.forgetWorkers,
    '--max-disk-gb': config.retention?.maxDiskBytes,
    // Addresses of receivers may hold a secret.
    '--notify': config.notify && markOf(config.notify.url),
  };
  const told = Object.entries(flags).filter(([, value]) => value !== undefined && value !== false);
  const credentials = [...auth.marks].map(([name, mark]) => [`credential of ${name}`, mark]);
  return Object.fromEntries([...told.map(([name, value]) => [name, JSON.stringify(value)]), ...credentials]);
}

const markOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 2);
