import type { S3Location } from '../../actors/server/blobs/s3/location.ts';
import type { RetentionSettings } from '../../actors/server/retention/settings.ts';
import type { Share } from '../../actors/server/scheduling/rounds.ts';
import type { StoreHooks } from '../../actors/server/store/store.ts';
import type { Clock } from '../../actors/shared/clock.ts';
import type { TransportChoice } from '../../gateway/transport/choose.ts';
import type { TlsFiles } from '../../gateway/transport/tls.ts';
import type { LogConfig } from './log.ts';

/** Everything that `jq-server` can be told. Times in seconds. */
export interface ServerConfig extends LogConfig {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** Where clients and other servers reach it; what it listens on where it is left out. */
  advertise?: string | undefined;
  /** What speaks HTTP; `auto` where it is left out. */
  transport?: TransportChoice | undefined;
  /** Files of its certificate and key; absent: plain HTTP. */
  tls?: TlsFiles | undefined;
  state: string;
  /** Where objects lie; absent: in the state directory. */
  objects?: S3Location | undefined;
  /** Whether clients that ask for it fetch artifacts from there. */
  presign?: boolean | undefined;
  /** Where the store is, if not in the state directory: `postgres://…`. */
  store?: string | undefined;
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
