import { ClusterError } from '../machines/protocol/errors.ts';
import { AdmissionControl } from './http/admission/admission.ts';
import { basePathOf } from './http/admission/base-path.ts';
import { ClientAddresses } from './http/admission/client-address.ts';
import { compileEndpoints } from './http/admission/endpoint.ts';
import { Handshake } from './http/admission/handshake.ts';
import { isLoopback, OriginPolicy } from './http/admission/origin.ts';
import { Router } from './http/admission/router.ts';
import { Dispatcher } from './http/dispatcher.ts';
import { Forwarder } from './http/forward/forwarder.ts';
import { InFlight } from './http/in-flight.ts';
import { ParserPool } from './http/parsing/parser-pool.ts';
import { BodyBudget } from './http/request/body-budget.ts';
import { RequestLog } from './http/request-log.ts';
import { ALONE } from './leadership.ts';
import { HttpMetrics } from './metrics/http-metrics.ts';
import { processMetrics } from './metrics/process-metrics.ts';
import { tlsMetrics } from './metrics/tls-metrics.ts';
import { UploadMetrics } from './metrics/upload-metrics.ts';
import { DEFAULTS, type GatewayOptions } from './options.ts';
import { StreamSockets } from './streams/stream-sockets.ts';
import type { StreamOpener } from './streams/upgrade.ts';
import { chooseTransport } from './transport/choose.ts';
import { reachable } from './transport/reachable.ts';
import { isSame, readTls } from './transport/tls.ts';
import type { TransportName } from './transport/transport.ts';
import { pageOnDemand } from './ui/page-response.ts';

export interface Gateway {
  readonly host: string;
  readonly port: number;
  /** What speaks HTTP, and why it does. */
  readonly transport: { readonly name: TransportName; readonly why: string };
  /** Base address for clients on this machine, such as `http://127.0.0.1:8765`. */
  readonly url: string;
  /**
   * Shows new connections the certificate that its files hold now; open ones go on.
   * @throws StartError `bad_tls`, and then the one of before stays
   */
  renewTls(): Promise<void>;
  /**
   * Takes no new connections, closes streams with 1001, lets requests under way finish (at most `drainMs`) and
   * closes what is left. Idempotent. The supervisor should be drained before, so that waiting requests end.
   */
  stop(): Promise<void>;
}

/**
 * Starts the HTTP and WebSocket server.
 * @throws StartError when it cannot listen, or an option makes no sense
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, log, backend } = options;
  const basePath = basePathOf(options.basePath ?? '');
  const inFlight = new InFlight();
  let stopping: Promise<void> | undefined;
  const { transport, why } = await chooseTransport(options.transport ?? 'auto', options.tls !== undefined);
  const parsers = new ParserPool();
  const sockets = new StreamSockets(backend, options.auth, log);
  const stopProcessMetrics = processMetrics(backend.metrics, options.facts.version);
  const dispatcher = assemble(
    { ...options, basePath },
    {
      inFlight,
      readers: parsers,
      streams: (aim, grant) => sockets.handlers(aim, grant),
      closing: () => stopping !== undefined,
    },
  );
  const unwatch = options.auth.watch(() => {
    sockets.recheck();
    dispatcher.recheck();
  });
  const listening = await transport
    .listen(host, options.port, {
      handle: (incoming) => dispatcher.handle(incoming),
      headers: dispatcher.headers,
      log,
      tls: options.tls,
    })
    .catch((error) => {
      unwatch();
      sockets.stop();
      stopProcessMetrics();
      throw error;
    });

  // What is shown at present.
  let shown = options.tls && readTls(options.tls);
  tlsMetrics(backend.metrics, () => shown);
  const renewTls = async () => {
    if (options.tls === undefined || shown === undefined) return;
    const next = readTls(options.tls);
    if (isSame(next, shown)) return;
    await listening.renewTls();
    dispatcher.forwarder.renewTls();
    shown = next;
  };

  const stop = async () => {
    listening.stopListening();
    unwatch();
    sockets.stop();
    dispatcher.forwarder.stop();
    const left = await inFlight.idle(options.drainMs ?? DEFAULTS.drainMs);
    if (left > 0) log.warn({ requests: left }, 'requests under way are broken off');
    parsers.stop();
    stopProcessMetrics();
    dispatcher.forwarder.close();
    listening.close();
  };
  return {
    host,
    port: listening.port,
    transport: { name: transport.name, why },
    url: urlOf(options.tls ? 'https' : 'http', host, listening.port) + basePath,
    renewTls,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Puts the parts that answer requests together; nothing listens yet. */
export function assemble(
  options: GatewayOptions,
  parts: { inFlight: InFlight; streams: StreamOpener; readers: ParserPool; closing: () => boolean },
): Dispatcher {
  const { readers: parsers, ...rest } = parts;
  const { auth, log, backend, host, basePath = '' } = options;
  const facts = { ...options.facts, basePath };
  const limits = {
    maxRequestBytes: options.maxRequestBytes ?? DEFAULTS.maxRequestBytes,
    maxArtifactBytes: options.maxArtifactBytes ?? DEFAULTS.maxArtifactBytes,
  };
  const handshake = new Handshake({
    prefixes: options.headerPrefixes ?? [],
    version: facts.version,
    port: backend,
    log,
  });
  const origins = new OriginPolicy({
    corsOrigins: options.corsOrigins ?? [],
    versionHeaders: handshake.names,
    loopbackOnly: () => auth.open && isLoopback(host),
    scheme: options.tls ? 'https' : 'http',
  });
  const clients = new ClientAddresses(options.trustProxy ?? []);
  const open = options.metricsOpen ? (['metrics'] as const) : [];
  const leadership = options.leadership ?? ALONE;
  const router = new Router(compileEndpoints(limits, open), basePath);
  return new Dispatcher({
    admission: new AdmissionControl({
      ...{ router, handshake, origins, auth, limits, basePath },
    }),
    leadership,
    forwarder: new Forwarder({ leadership, tls: options.tls, headers: handshake.headers, log }),
    handshake,
    origins,
    auth,
    service: {
      backend,
      facts,
      maxArtifactBytes: limits.maxArtifactBytes,
      bodies: new BodyBudget(BODIES * limits.maxRequestBytes),
      parsers,
      dashboard: pageOnDemand(options.dashboard),
      uploads: new UploadMetrics(backend.metrics),
      requests: new RequestLog(log, clients),
      assertGranted: ({ grant }) => {
        const why = grant ? auth.lost(grant.principal, grant.right) : null;
        if (why !== null)
          throw new ClusterError(
            'unauthenticated',
            `the credential ${why} while the request came; check the token`,
          );
      },
      log,
    },
    metrics: new HttpMetrics(backend.metrics, () => rest.inFlight.count),
    ...rest,
  });
}

/** How many bodies of the largest size may be in memory at the same time. */
const BODIES = 4;

function urlOf(scheme: 'http' | 'https', host: string, port: number): string {
  const named = reachable(host);
  return `${scheme}://${named.includes(':') ? `[${named}]` : named}:${port}`;
}
