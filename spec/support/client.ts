import type { TestContext } from 'node:test';
import { type ClientOptions, ClusterClient } from '../../gateway/client/client.ts';

/** A client of a server until the test ends. */
export function clientOf(t: TestContext, server: string, more: Partial<ClientOptions> = {}): ClusterClient {
  const client = new ClusterClient({ server, ...more });
  t.after(() => client.close());
  return client;
}
