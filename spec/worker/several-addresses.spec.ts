import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { Addresses } from '../../actors/worker/link/addresses.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { quietPort } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { startTestWorker } from './support.ts';

/** A log of which only warnings are of interest. */
function warnings() {
  const said: { server?: string; msg: string }[] = [];
  return { said, log: pino({ level: 'warn' }, { write: (line) => void said.push(JSON.parse(line)) }) };
}

describe('a worker that is told several addresses', () => {
  it('names in its log those where nobody answers: at its start, and when one is left', async (t) => {
    const [first, second] = [await startTestServer(t), await startTestServer(t)];
    const nobody = `http://127.0.0.1:${await quietPort()}`;
    const { said, log } = warnings();
    await startTestWorker(t, { url: [first.url, second.url, nobody].join(',') }, { log });
    const named = (url: string) => said.filter(({ server, msg }) => server === url && msg.includes(url));
    await until('the one where nobody is', () => named(nobody).length > 0);
    await first.stop();
    await until('the one that is gone', () => named(first.url).length > 0);
    assert.equal(named(nobody).length, 1, 'it was said');
  });

  it('says so again of one that has answered in between', async (t) => {
    const [present, port] = [await startTestServer(t), await quietPort()];
    const other = `http://127.0.0.1:${port}`;
    const client = new ClusterClient({ server: `${present.url},${other}` });
    t.after(() => client.close());
    const { said, log } = warnings();
    const addresses = new Addresses(client, log);
    const looks = async () => {
      for (let look = 0; look < 2; look++) await addresses.look();
      return said.length;
    };
    assert.equal(await looks(), 1);
    const beside = await startTestServer(t, { port });
    assert.equal(await looks(), 1);
    await beside.stop();
    assert.equal(await looks(), 2);
  });
});
