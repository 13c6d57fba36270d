import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { TestContext } from 'node:test';
import { LeaderOnly, type Leadership } from '../../gateway/leadership.ts';
import { readTls, type TlsFiles } from '../../gateway/transport/tls.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { listenFor } from '../support/listen.ts';
import { gatewayFor } from './support.ts';

/** One that stands by, for whom the test says who leads. */
class StandsBy implements Leadership {
  leads = false;
  /** How often somebody looked who leads: once before a server is asked, and again when its refusal was read. */
  looks = 0;
  readonly refusal = new ClusterError('standing_by', 'this server stands by, and cannot ask');
  readonly #listeners = new Set<() => void>();
  #leader: { url: string } | null = null;

  get leader(): { url: string } | null {
    this.looks++;
    return this.#leader;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  now(url: string | null): void {
    this.#leader = url === null ? null : { url };
    for (const tell of this.#listeners) tell();
  }
}

export async function standbyOf(t: TestContext, leader: string | null, tls?: TlsFiles) {
  const leadership = new StandsBy();
  leadership.now(leader);
  const gateway = await gatewayFor({ leadership, ...(tls && { tls }) });
  gateway.cluster.reads.demand = async () => {
    throw new LeaderOnly();
  };
  t.after(() => gateway.stop());
  return { gateway, leadership };
}

/**
 * A server that answers as the test says, with the requests as they came.
 * @param tls what it shows
 */
export async function leaderThat(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  tls?: TlsFiles,
) {
  const requests: IncomingMessage[] = [];
  const take = (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    answer(request, response);
  };
  const server = tls ? createSecureServer(readTls(tls), take) : createServer(take);
  const { port } = await listenFor(t, server);
  return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, requests };
}
