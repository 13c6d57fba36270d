import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { InputCache } from '../../actors/worker/inputs/cache/cache.ts';
import { Catalog } from '../../actors/worker/inputs/catalog/catalog.ts';
import { LIMITS } from '../../actors/worker/inputs/zip.ts';
import { closingServer } from '../support/closing-server.ts';
import { sha256 } from '../support/sha256.ts';
import { CatalogServer } from './catalog-server.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { quick, silent } from './quick.ts';

/** Fetches a dataset of a worker's catalog into an empty cache. */
async function use(t: TestContext, source: string, id = 'corn') {
  const cacheDir = await temporaryFolder(t);
  const cache = new InputCache({ folder: cacheDir, limitBytes: 1024 ** 3, log: silent });
  await cache.open();
  const catalog = new Catalog({ source, cache, zipLimits: LIMITS });
  atEnd(t, async () => {
    catalog.close();
    await cache.close();
  });
  const { signal } = new AbortController();
  return catalog.use(id, { backoff: { limits: quick, random: () => 0 }, log: silent, signal });
}

describe('a dataset of a catalog on the web', () => {
  it('may lie on a server that closes the connection behind each answer', async (t) => {
    const bytes = randomBytes(2_000_000);
    const entry = { id: 'corn', version: '1', url: 'corn.bin', sha256: sha256(bytes) };
    const index = Buffer.from(JSON.stringify([entry]));
    const closing = await closingServer({ '/sets/index.json': index, '/sets/corn.bin': bytes });
    atEnd(t, () => closing.stop());
    for (let n = 0; n < 5; n++) {
      const { path } = await use(t, `${closing.url}/sets/index.json`);
      assert.equal(sha256(await readFile(path)), entry.sha256);
    }
  });

  it('is fetched from where its server redirects, but without the credentials', async (t) => {
    const server = await CatalogServer.start(t);
    const elsewhere = await CatalogServer.start(t);
    const content = 'what lies elsewhere';
    const seen: unknown[] = [];
    server.addFile('corn.csv', Buffer.from(content), { id: 'corn', version: '1' });
    server.answers.set('/sets/corn.csv', (_, response) =>
      response.writeHead(302, { location: '/sets/moved.csv' }).end(),
    );
    server.answers.set('/sets/moved.csv', ({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(307, { location: new URL('/there.csv', elsewhere.index).href }).end();
    });
    elsewhere.answers.set('/there.csv', ({ headers }, response) => {
      seen.push(headers.authorization);
      response.end(content);
    });
    const address = new URL(server.index);
    [address.username, address.password] = ['ann', 'secret'];
    const { path } = await use(t, address.href);
    assert.equal(await readFile(path, 'utf8'), content);
    assert.deepEqual(seen, [`Basic ${Buffer.from('ann:secret').toString('base64')}`, undefined]);
  });

  it('fails when its server redirects in a circle', async (t) => {
    const server = await CatalogServer.start(t);
    server.addFile('corn.csv', Buffer.from('x'), { id: 'corn', version: '1' });
    server.answers.set('/sets/corn.csv', (_, response) =>
      response.writeHead(302, { location: '/sets/corn.csv' }).end(),
    );
    await assert.rejects(use(t, server.index), /answered 302/);
    assert.equal(server.count('corn.csv'), 6);
  });
});
