import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { jobText } from '../crash/load.ts';
import { startWorkerProgram } from '../crash/worker-program.ts';
import { emptyDatabase } from '../store/drivers.ts';
import { clientOf } from '../support/client.ts';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type ServerProgram, startServerProgram } from '../support/server-program.ts';
import { sharingState } from '../support/sharing-state.ts';
import { until } from '../support/until.ts';

const SERVERS = 3;
/** Milliseconds until a request is repeated, where the answer does not say. */
const AGAIN_MS = 200;

/** What is asked while servers come and go: each request is repeated once, and then has to be answered. */
class Load {
  readonly acknowledged: string[] = [];
  readonly faults: unknown[] = [];
  repeated = 0;
  #goes = true;
  readonly #clients: ClusterClient[];
  readonly #running: Promise<unknown>;

  constructor(servers: readonly string[]) {
    // Each begins at another one, so that all of them are asked.
    const orders = servers.map((_, n) => [...servers.slice(n), ...servers.slice(0, n)].join(','));
    this.#clients = orders.map((server) => new ClusterClient({ server }));
    this.#running = Promise.all(this.#clients.map((client, n) => this.#ask(client, n)));
  }

  async stop(): Promise<void> {
    this.#goes = false;
    await this.#running;
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  async #ask(client: ClusterClient, who: number): Promise<void> {
    for (let n = 0; this.#goes; n++) {
      const name = `load-${who}-${n}`;
      const text = `${jobText(name, 1).slice(0, -1)},"idempotency_key":"${name}"}`;
      try {
        const { id } = await this.#once(() => client.call('submitJob', { text }));
        this.acknowledged.push(id);
        const seen = await this.#once(() => client.call('getJob', { params: { id } }));
        assert.equal(seen.name, name);
        await this.#once(() => client.call('listWorkers'));
      } catch (fault) {
        this.faults.push(fault);
      }
      await delay(20);
    }
  }

  async #once<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (fault) {
      this.repeated++;
      const after = fault instanceof ResponseError ? fault.retryAfter : undefined;
      await delay(after === undefined ? AGAIN_MS : after * 1000);
      return ask();
    }
  }
}

async function startAll(t: TestContext) {
  const store = await emptyDatabase();
  const stateOf = await sharingState(t);
  const servers: { state: string; port: number; program: ServerProgram }[] = [];
  t.after(() => Promise.all(servers.map(({ program }) => program.kill())));
  const start = (state: string, port: number) => startServerProgram({ state, port, store, leaseTtl: 30 });
  for (let n = 0; n < SERVERS; n++) {
    const [state, port] = [await stateOf(), await quietPort()];
    servers.push({ state, port, program: await start(state, port) });
  }
  return {
    urls: servers.map(({ program }) => program.url),
    /** One after the other, as for a new version. */
    async replace(whenReplaced: (url: string) => Promise<void>) {
      for (const server of servers) {
        assert.deepEqual(await server.program.terminate(), { code: 0, signal: null });
        server.program = await start(server.state, server.port);
        await whenReplaced(server.program.url);
      }
    },
  };
}

describe('servers on one database that are replaced one after the other', requires('postgresql'), () => {
  test('lose nothing that was acknowledged, and fail no request that is repeated once', async (t) => {
    const { urls, replace } = await startAll(t);
    const worker = startWorkerProgram(urls.join(','), await temporaryDirectory(t));
    t.after(() => worker.kill());
    const load = new Load(urls);
    await until('the load to come', () => load.acknowledged.length > 10);
    await replace(async (url) => {
      const ready = () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      await until('the new one to be ready', ready);
      const before = load.acknowledged.length;
      await until('the load to go on', () => load.acknowledged.length > before + 10);
    });
    await load.stop();
    assert.deepEqual(load.faults, []);
    const client = clientOf(t, urls[1] as string);
    const { servers } = await client.call('listServers');
    const leading = servers.filter(({ status }) => status === 'leading');
    assert.equal(leading.length, 1);
    assert.ok((leading[0]?.epoch ?? 0) >= 3, 'it has changed who leads');
    for (const id of new Set(load.acknowledged)) {
      const status = () => client.call('getJob', { params: { id } }).then((job) => job.status);
      await until(`${id} to succeed`, async () => (await status()) === 'succeeded', 120);
    }
    t.diagnostic(`${load.acknowledged.length} jobs, ${load.repeated} requests were repeated`);
  });
});
