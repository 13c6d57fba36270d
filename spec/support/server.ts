import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type RunningServer, startServer } from '../../bin/programs/server.ts';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { storeOf } from './test-store.ts';
import { TRANSPORT } from './transport.ts';

export interface TestServer extends RunningServer {
  readonly stateDir: string;
  readonly config: ServerConfig;
  readonly client: ClusterClient;
  /** A client with another credential. */
  clientWith(token: string | undefined, role?: 'client' | 'worker'): ClusterClient;
}

/** A directory of the test's own, removed at its end. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'jq-spec-'));
  // Whoever still writes into it is ended by a hook of its own, which may come later.
  t.after(() => rm(path, { recursive: true, force: true, maxRetries: 20 }));
  return path;
}

/** A real server in this process: real SQLite file, real socket on a free port. Stopped when the test ends. */
export async function startTestServer(
  t: TestContext,
  options: Partial<ServerConfig> = {},
): Promise<TestServer> {
  const state = options.state ?? (await temporaryDirectory(t));
  const config: ServerConfig = {
    host: '127.0.0.1',
    port: 0,
    transport: TRANSPORT,
    state,
    store: storeOf(state),
    principals: [],
    corsOrigins: [],
    allowPythonJobs: false,
    leaseTtl: 60,
    heartbeatInterval: 10,
    workerDeadAfter: 45,
    maxRequestBytes: 16 * 1024 * 1024,
    maxArtifactBytes: 2048 * 1024 * 1024,
    serviceName: 'jq-cluster',
    headerPrefixes: [],
    logLevel: 'silent',
    ...options,
  };
  const server = await startServer(config);
  const clients: ClusterClient[] = [];
  const clientWith = (token: string | undefined, role?: 'client' | 'worker') => {
    const client = new ClusterClient({ server: server.url, token, ...(role ? { role } : {}) });
    clients.push(client);
    return client;
  };
  t.after(async () => {
    for (const client of clients) await client.close();
    await server.stop();
  });
  return {
    url: server.url,
    port: server.port,
    open: server.open,
    ended: server.ended,
    leads: server.leads,
    get others() {
      return server.others;
    },
    get state() {
      return server.state;
    },
    get idle() {
      return server.idle;
    },
    reload: () => server.reload(),
    reopenLog: () => server.reopenLog(),
    stop: () => server.stop(),
    stateDir: config.state,
    config,
    client: clientWith(config.token),
    clientWith,
  };
}
