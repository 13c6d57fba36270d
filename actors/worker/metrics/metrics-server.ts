import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import { StartError } from '../../../machines/protocol/start-error.ts';

/** Where the metrics are served. */
export interface MetricsAddress {
  host: string;
  /** 0 takes a free one. */
  port: number;
}

/**
 * Serves `/metrics` and nothing else, without a credential.
 * @throws StartError where it cannot listen
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: MetricsAddress,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async ({ method, url, headers }, answer) => {
    const isKnown = url?.split('?')[0] === '/metrics' && (method === 'GET' || method === 'HEAD');
    if (!isKnown) {
      answer.writeHead(404, { 'Content-Type': 'text/plain' }).end('the metrics are at /metrics\n');
      return;
    }
    const { type, text } = await metrics.text(headers.accept);
    answer.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(text);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (fault: NodeJS.ErrnoException) => {
      const why = fault.code === 'EADDRINUSE' ? 'the port is in use' : (fault.code ?? fault.message);
      reject(
        new StartError(
          'listen_failed',
          `cannot listen on ${host}:${port} (${why}); choose another --metrics-port`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}/metrics`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
