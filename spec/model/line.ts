import { Agent, request } from 'undici';
import { Credentials } from '../../gateway/auth/credentials.ts';
import type { Backend } from '../../gateway/backend.ts';
import { startGateway } from '../../gateway/gateway.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { SILENT } from '../support/silent.ts';
import { Wire, type WireAnswer, type WireCall } from '../support/wire.ts';

/** The way to the gateway, with or without a socket. */
export interface Line {
  request(method: string, path: string, body?: object): WireCall;
  close(): Promise<void>;
}

export type LineKind = 'wire' | 'http';

export function openLine(kind: LineKind, port: Backend): Promise<Line> {
  return kind === 'http' ? httpLine(port) : Promise.resolve(wireLine(port));
}

function wireLine(port: Backend): Line {
  const wire = new Wire(port);
  return {
    request: (method, path, body) =>
      wire.request({ method, path, ...(body ? { body: JSON.stringify(body) } : {}) }),
    close: async () => {},
  };
}

async function httpLine(backend: Backend): Promise<Line> {
  const gateway = await startGateway({
    backend,
    host: '127.0.0.1',
    port: 0,
    auth: Credentials.from(),
    facts: { service: 'jq-cluster', version: PACKAGE_VERSION, allowPythonJobs: false },
    log: SILENT,
    dashboard: () => '',
    drainMs: 0,
  });
  const agent = new Agent({ connections: 64 });
  return {
    request(method, path, body) {
      const abort = new AbortController();
      const answer: Promise<WireAnswer> = request(`${gateway.url}${path}`, {
        method: method as 'POST',
        body: body ? JSON.stringify(body) : null,
        dispatcher: agent,
        signal: abort.signal,
      }).then(async (got) => ({ status: got.statusCode, headers: [], body: await got.body.text() }));
      answer.catch(() => {});
      return { answer, hangUp: () => abort.abort() };
    },
    async close() {
      await agent.destroy();
      await gateway.stop();
    },
  };
}
