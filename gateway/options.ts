import type { Logger } from 'pino';
import type { Credentials } from './auth/credentials.ts';
import type { Backend } from './backend.ts';
import type { ServiceFacts } from './contract/route.ts';
import type { Leadership } from './leadership.ts';
import type { TransportChoice } from './transport/choose.ts';
import type { TlsFiles } from './transport/tls.ts';

export interface GatewayOptions {
  backend: Backend;
  /** Whether it leads on its store, and who else does; it has the store for itself where it is left out. */
  leadership?: Leadership | undefined;
  /** Address to listen on, such as `127.0.0.1`, `0.0.0.0` or `::1`. */
  host: string;
  /** TCP port; 0 takes a free one. */
  port: number;
  auth: Credentials;
  /** What speaks HTTP; `auto` where it is left out. */
  transport?: TransportChoice | undefined;
  /** What clients are shown; absent: plain HTTP. */
  tls?: TlsFiles | undefined;
  /** Origins of other sites whose pages may use the API; `*` allows all. */
  corsOrigins?: readonly string[];
  facts: ServiceFacts;
  /** Prefixes of the version headers beside `CLUSTER`; accepted and answered alike. */
  headerPrefixes?: readonly string[];
  /** Addresses and networks of proxies that are believed when they say whom they were asked by. */
  trustProxy?: readonly string[] | undefined;
  /** The path below which proxies serve it, such as `/jq`; `''` where it is left out. */
  basePath?: string;
  /** Largest JSON or YAML body, in bytes. */
  maxRequestBytes?: number;
  /** Largest artifact, in bytes. */
  maxArtifactBytes?: number;
  log: Logger;
  /** The HTML of the dashboard; called when the page is first asked for, and again only after a failure. */
  dashboard: () => string | Promise<string>;
  /** Whether the metrics need no credential. */
  metricsOpen?: boolean | undefined;
  /** Longest time, in milliseconds, that `stop` waits for requests under way. */
  drainMs?: number;
}

const MIB = 1024 * 1024;

/** Limits where the caller names none (docs/protocol.md#limits). */
export const DEFAULTS = {
  maxRequestBytes: 16 * MIB,
  maxArtifactBytes: 2048 * MIB,
  drainMs: 10_000,
} as const;
