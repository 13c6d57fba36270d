import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InputError, WorkerError } from '../../actors/worker/errors.ts';
import { InputCache } from '../../actors/worker/inputs/cache/cache.ts';
import { Catalog } from '../../actors/worker/inputs/catalog/catalog.ts';
import { SourceUnavailableError } from '../../actors/worker/inputs/catalog/source.ts';
import { LIMITS } from '../../actors/worker/inputs/zip.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { CatalogServer } from './catalog-server.ts';
import { atEnd, exists, temporaryFolder } from './folder.ts';
import { quick, silent } from './quick.ts';
import { rawZip } from './raw-zip.ts';

const GIB = 1024 ** 3;
const never = new AbortController().signal;

interface Options {
  cacheDir?: string;
  /** Of the cache. */
  bytes?: number;
  source?: string;
}

/** The catalog of a worker, and a server that it reads. */
async function open(t: TestContext, server: CatalogServer, options: Options = {}) {
  const cacheDir = options.cacheDir ?? (await temporaryFolder(t));
  const { source = server.index, bytes = GIB } = options;
  const cache = new InputCache({ folder: cacheDir, limitBytes: bytes, log: silent });
  await cache.open();
  const catalog = new Catalog({ source, cache, zipLimits: LIMITS });
  atEnd(t, async () => {
    catalog.close();
    await cache.close();
  });
  const use = async (id: string, signal = never) => {
    const persistence = { backoff: { limits: quick, random: () => 0 }, log: silent, signal };
    const { held, ...used } = await catalog.use(id, persistence);
    return { ...used, release: held.release, intact: held.intact };
  };
  /** The ids of what is kept. */
  const kept = async () => {
    const idOf = (key: string) => server.entries.find(({ sha256 }) => key.startsWith(`${sha256}-`))?.id;
    return (await readdir(join(cacheDir, 'entries'))).map((key) => String(idOf(key))).sort();
  };
  const drafts = () => readdir(join(cacheDir, 'drafts'));
  return { use, kept, drafts, cacheDir };
}

describe('a dataset that a catalog names', () => {
  it('is fetched, verified and unpacked; a folder around it makes no difference', async (t) => {
    const server = await CatalogServer.start(t);
    server.add('corn', '2');
    const { use } = await open(t, server);
    const { entry, path } = await use('corn');
    assert.deepEqual([entry.id, entry.version, basename(path)], ['corn', '2', 'corn']);
    assert.equal(await readFile(join(path, 'train.csv'), 'utf8'), 'corn2.....');
  });

  it('may be a plain file, which keeps its name', async (t) => {
    const server = await CatalogServer.start(t);
    server.addFile('my%20corn.parquet', Buffer.from('PAR1'), { id: 'corn', version: '1' });
    const { use } = await open(t, server);
    const { path } = await use('corn@1');
    assert.equal(basename(path), 'my_corn.parquet');
    assert.equal(await readFile(path, 'utf8'), 'PAR1');
  });

  it('may come from a folder that is shared, and so may the index', async (t) => {
    const server = await CatalogServer.start(t);
    const shared = await temporaryFolder(t);
    const bytes = rawZip([{ name: 'train.csv', data: 'shared' }]);
    await writeFile(join(shared, 'corn.zip'), bytes);
    await writeFile(
      join(shared, 'index.yaml'),
      `- {id: corn, version: 1, sha256: ${sha256(bytes)}, path: corn.zip}`,
    );
    const { use } = await open(t, server, { source: join(shared, 'index.yaml') });
    const { path } = await use('corn');
    assert.equal(basename(path), 'corn');
    assert.equal(await readFile(join(path, 'train.csv'), 'utf8'), 'shared');
  });

  it('is fetched once by many tasks that want it at the same time', async (t) => {
    const server = await CatalogServer.start(t);
    const bytes = server.add('corn');
    const one = await open(t, server);
    const other = await open(t, server, { cacheDir: one.cacheDir });
    let answer: () => void = () => {};
    server.answers.set('/sets/corn-1.zip', (_, response) => {
      answer = () => response.end(bytes);
    });
    const using = [one, other, one, other, one, other].map(({ use }) => use('corn'));
    await until('all to have read the index', () => server.count('index.json') >= 6);
    await until('one to fetch', () => server.count('corn-1.zip') >= 1);
    answer();
    const paths = (await Promise.all(using)).map(({ path }) => path);
    assert.equal(new Set(paths).size, 1);
    assert.equal(server.count('corn-1.zip'), 1);
  });

  it('is fetched again as soon as the index has a newer version', async (t) => {
    const server = await CatalogServer.start(t);
    server.add('corn', '1');
    const { use } = await open(t, server);
    assert.equal((await use('corn')).entry.version, '1');
    server.add('corn', '2');
    assert.equal((await use('corn')).entry.version, '2');
  });

  it('is asked for with the credentials of the address', async (t) => {
    const server = await CatalogServer.start(t);
    const bytes = server.add('corn');
    const seen: unknown[] = [];
    server.answers.set('/sets/corn-1.zip', ({ headers }, response) => {
      seen.push(headers.authorization);
      response.end(bytes);
    });
    const { use } = await open(t, server, { source: server.index.replace('//', '//ann:p%40w@') });
    await use('corn');
    assert.deepEqual(seen, [`Basic ${Buffer.from('ann:p@w').toString('base64')}`]);
  });
});

describe('the cache of datasets', () => {
  const SIZE = 1_000_000;

  it('removes the least recently used ones beyond its limit', async (t) => {
    const server = await CatalogServer.start(t);
    for (const id of ['a', 'b', 'c']) server.add(id, '1', SIZE);
    const { use, kept, drafts } = await open(t, server, { bytes: 2.5 * SIZE });
    for (const id of ['a', 'b', 'a', 'c']) await (await use(id)).release();
    await until('one to be removed', async () => (await kept()).length === 2);
    assert.deepEqual(await kept(), ['a', 'c']);
    await until('its files to be gone', async () => (await drafts()).length === 0);
    await use('b');
    assert.equal(server.count('b-1.zip'), 2);
  });

  it('never removes one that a task uses, but does once the task is over', async (t) => {
    const server = await CatalogServer.start(t);
    for (const id of ['a', 'b']) server.add(id, '1', SIZE);
    const { use, kept, cacheDir } = await open(t, server, { bytes: 0 });
    const [a, other] = [await use('a'), await open(t, server, { cacheDir, bytes: 0 })];
    // Of another worker program, to which only the lock tells that it is used.
    await (await other.use('b')).release();
    await until('the unused one to be removed', async () => (await kept()).length === 1);
    assert.ok(await exists(join(a.path, 'train.csv')));
    await a.release();
    await until('this one, too', async () => (await kept()).length === 0);
  });

  it('keeps one that another process uses, until that process is gone, however it ended', async (t) => {
    const server = await CatalogServer.start(t);
    for (const id of ['a', 'b']) server.add(id, '1', SIZE);
    const { use, kept, cacheDir } = await open(t, server, { bytes: 0 });
    const program = fileURLToPath(new URL('./fixtures/hold-dataset.ts', import.meta.url));
    const args = ['--import', 'tsx', program, server.index, cacheDir, 'a'];
    const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    atEnd(t, () => holder.kill('SIGKILL'));
    await once(holder.stdout, 'data');
    await (await use('b')).release();
    await until('the unused one to be removed', async () => (await kept()).length === 1);
    assert.deepEqual(await kept(), ['a']);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await (await use('b')).release();
    await until('both to be removed', async () => (await kept()).length === 0);
  });

  it('holds files that a task cannot write to by mistake', async (t) => {
    const server = await CatalogServer.start(t);
    server.add('a');
    const { use } = await open(t, server);
    const { path } = await use('a');
    assert.equal((await stat(join(path, 'train.csv'))).mode & 0o222, 0);
  });

  it('must be a folder that can be written to', async (t) => {
    const server = await CatalogServer.start(t);
    const refused = (fault: unknown) => fault instanceof StartError && /--cache-dir/.test(fault.message);
    await assert.rejects(open(t, server, { cacheDir: '/proc/no/such' }), refused);
  });
});

describe('a dataset that cannot be placed', () => {
  const workerFault = (pattern: RegExp) => (fault: unknown) =>
    fault instanceof WorkerError && pattern.test(fault.message);
  const inputFault = (pattern: RegExp) => (fault: unknown) =>
    fault instanceof InputError && pattern.test(fault.message);
  const away = (pattern: RegExp) => (fault: unknown) =>
    fault instanceof SourceUnavailableError && pattern.test(fault.message);

  it('is an input fault when its bytes are not those of the catalog, and is not kept', async (t) => {
    const server = await CatalogServer.start(t);
    const wrong = 'f'.repeat(64);
    server.add('corn', '1', 10, { sha256: wrong });
    const { use, kept, drafts } = await open(t, server);
    await assert.rejects(use('corn'), inputFault(new RegExp(`corn@1: .*the catalog says ${wrong}`)));
    assert.deepEqual([await kept(), await drafts()], [[], []]);
  });

  it("is an input fault when its server does not have it or it is no readable archive, and the worker's when a path is missing here", async (t) => {
    const server = await CatalogServer.start(t);
    const entry = { version: '1', sha256: sha256('') };
    server.entries.push(
      { id: 'gone', url: 'gone.zip', ...entry },
      { id: 'lost', path: '/no/such.zip', ...entry },
    );
    server.entries.push({ id: 'folder', path: '/tmp', ...entry });
    server.addFile('odd.zip', Buffer.from('odd'), { id: 'odd', version: '1' });
    const { use, kept } = await open(t, server);
    await assert.rejects(use('gone'), inputFault(/gone@1 \(http.*gone.zip\): the server answered 404/));
    await assert.rejects(use('lost'), workerFault(/lost@1 does not exist on this worker: \/no\/such.zip/));
    await assert.rejects(use('folder'), inputFault(/folder@1 is not a file/));
    await assert.rejects(use('odd'), inputFault(/odd@1 is not a readable zip/));
    assert.deepEqual(await kept(), []);
  });

  it('is a fault of the worker when the catalog is a file that is not there', async (t) => {
    const server = await CatalogServer.start(t);
    const [web, file] = [
      await open(t, server, { source: `${server.index}x` }),
      await open(t, server, { source: '/no/such/index.yaml' }),
    ];
    await assert.rejects(web.use('corn'), inputFault(/the catalog \(http.*\): the server answered 404/));
    await assert.rejects(file.use('corn'), workerFault(/the catalog does not exist on this worker/));
  });

  const breaking = (response: ServerResponse) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write('x', () => response.destroy());
  };
  const troubles: [string, (response: ServerResponse) => unknown][] = [
    ['is busy', (response) => response.writeHead(503).end()],
    ['breaks off', breaking],
    ['does not answer', (response) => response.destroy()],
  ];
  for (const [what, trouble] of troubles) {
    for (const path of ['/sets/index.json', '/sets/corn-1.zip']) {
      it(`is tried a few times when the server ${what} (${basename(path)}), then left to another worker`, async (t) => {
        const server = await CatalogServer.start(t);
        server.add('corn');
        let broken = 3;
        server.answers.set(path, (_, response) => {
          if (--broken === 0) server.answers.delete(path);
          trouble(response);
        });
        const { use } = await open(t, server);
        await (await use('corn')).release();
        assert.equal(server.count(basename(path)), 4);

        server.add('rye');
        server.answers.set('/sets/rye-1.zip', (_, response) => trouble(response));
        await assert.rejects(use('rye'), away(/rye@1/));
        assert.equal(server.count('rye-1.zip'), 5);
      });
    }
  }

  it('is left to another worker, too, when nothing listens there', async (t) => {
    const server = await CatalogServer.start(t);
    const { use } = await open(t, server, { source: 'http://127.0.0.1:9/index.json' });
    await assert.rejects(
      use('corn'),
      away(/the catalog cannot be reached at http:\/\/127.0.0.1:9\/index.json \(ECONNREFUSED\)/),
    );
  });

  it('is left to another worker when this one may not read it', async (t) => {
    const server = await CatalogServer.start(t);
    server.add('corn');
    server.answers.set('/sets/corn-1.zip', (_, response) => response.writeHead(403).end());
    const { use } = await open(t, server);
    await assert.rejects(use('corn'), (fault) => !(fault instanceof InputError) && /403/.test(`${fault}`));
    assert.equal(server.count('corn-1.zip'), 1);
  });

  it('stops being fetched when its task is cancelled', async (t) => {
    const server = await CatalogServer.start(t);
    const bytes = server.add('corn');
    const { use, drafts } = await open(t, server);
    server.answers.set('/sets/corn-1.zip', (_, response) => response.write(bytes.subarray(0, 10)));
    const stop = new AbortController();
    const first = use('corn', stop.signal);
    await until('a fetch to begin', () => server.count('corn-1.zip') >= 1);
    const second = use('corn');
    await until('the other to ask', () => server.count('index.json') >= 2);
    server.answers.clear();
    stop.abort();
    await assert.rejects(first, { name: 'AbortError' });
    await second;
    assert.deepEqual(await drafts(), []);
  });
});
