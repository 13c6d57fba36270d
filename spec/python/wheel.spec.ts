import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import yauzl from 'yauzl';
import { routeList } from '../../gateway/contract/routes.ts';
import { methodName } from '../../gateway/python/routes-module.ts';
import { pythonClient } from '../../gateway/python/wheel.ts';
import { API_VERSION, PACKAGE_VERSION } from '../../gateway/version.ts';
import { ROOT } from '../support/program.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { environment, needsPython, PYTHONS, pip, python } from './python.ts';

const run = promisify(execFile);
const sha256 = (bytes: Buffer, as: 'hex' | 'base64url') => createHash('sha256').update(bytes).digest(as);

/** The entries of a zip by their names. */
async function entriesOf(bytes: Buffer): Promise<Map<string, Buffer>> {
  const archive = await promisify<Buffer, yauzl.Options, yauzl.ZipFile>(yauzl.fromBuffer)(bytes, {
    lazyEntries: true,
  });
  const found = new Map<string, Buffer>();
  return new Promise((resolve, reject) => {
    archive.on('entry', (entry: yauzl.Entry) =>
      archive.openReadStream(entry, async (error, stream) => {
        if (error) return reject(error);
        found.set(entry.fileName, Buffer.concat(await stream.toArray()));
        archive.readEntry();
      }),
    );
    archive.on('end', () => resolve(found));
    archive.on('error', reject);
    archive.readEntry();
  });
}

const VERSION = 'import jq_cluster; print(jq_cluster.__version__)';

describe('the client for Python, as a wheel', () => {
  it('has the version of the server and of the protocol, and a digest of its content', async () => {
    const { wheel } = await pythonClient(routeList);
    const [, digest] =
      new RegExp(
        `^jq_cluster-${PACKAGE_VERSION}\\+api${API_VERSION}\\.([0-9a-f]{8})-py3-none-any\\.whl$`,
      ).exec(wheel.name) ?? [];
    assert.ok(digest, wheel.name);
    const fewer = await pythonClient(routeList.filter(([name]) => name !== 'getJob'));
    assert.notEqual(fewer.wheel.name, wheel.name, 'another table of routes is another version');
  });

  it('lists every file with its digest and length', async () => {
    const { wheel } = await pythonClient(routeList);
    const entries = await entriesOf(wheel.bytes);
    const name = [...entries.keys()].find((key) => key.endsWith('/RECORD')) as string;
    const rows = String(entries.get(name)).trim().split('\n').sort();
    const expected = [...entries].map(([key, bytes]) =>
      key === name ? `${key},,` : `${key},sha256=${sha256(bytes, 'base64url')},${bytes.length}`,
    );
    assert.deepEqual(rows, expected.sort());
    assert.ok(entries.has('jq_cluster/py.typed'));
  });

  it('is the same, byte for byte, whoever makes it', async () => {
    const make =
      "import('./gateway/python/wheel.ts').then(async ({ pythonClient }) => { const { routeList } = await import('./gateway/contract/routes.ts');" +
      'const { wheel, source } = await pythonClient(routeList); console.log(wheel.name, wheel.sha256, source.sha256); });';
    const { stdout } = await run(process.execPath, ['--import', 'tsx', '-e', make], {
      cwd: ROOT,
      env: { ...process.env, TZ: 'Pacific/Kiritimati' },
    });
    const { wheel, source } = await pythonClient(routeList);
    assert.equal(stdout.trim(), `${wheel.name} ${wheel.sha256} ${source.sha256}`);
    assert.equal(sha256(wheel.bytes, 'hex'), wheel.sha256);
  });

  it('has a method for every route that answers with data', async () => {
    const { wheel } = await pythonClient(routeList);
    const module = String((await entriesOf(wheel.bytes)).get('jq_cluster/_routes.py'));
    const methods = [...module.matchAll(/^ {4}def (\w+)\(/gm)].map(([, name]) => name);
    const expected = routeList
      .filter(([, { kind }]) => kind !== 'stream' && kind !== 'page' && kind !== 'file')
      .map(([name]) => methodName(name));
    assert.deepEqual(methods, ['__init__', ...expected]);
  });
});

for (const transport of ['node', 'auto'] as const) {
  describe(`a server offers it to everybody, by transport ${transport}`, () => {
    it('as a source tree and as a wheel, which is not sent to who has it', async (t) => {
      const { url } = await startTestServer(t, { transport, token: 'secret' });
      const { wheel, source } = await pythonClient(routeList);
      for (const [path, file] of [
        ['/client/python', source],
        ['/client/python/', source],
        [`/client/python/${wheel.name}`, wheel],
        [`/client/python/${encodeURIComponent(wheel.name)}`, wheel],
      ] as const) {
        const answer = await fetch(url + path);
        assert.equal(answer.status, 200, path);
        assert.equal(sha256(Buffer.from(await answer.arrayBuffer()), 'hex'), file.sha256);
        assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${file.name}"`);
        const etag = answer.headers.get('etag') as string;
        const again = await fetch(url + path, { headers: { 'if-none-match': etag } });
        assert.deepEqual([again.status, await again.text()], [304, '']);
        const head = await fetch(url + path, { method: 'HEAD' });
        assert.equal(head.headers.get('content-length'), String(file.bytes.length));
      }
    });

    it('and says what the wheel is called to who asks for another one', async (t) => {
      const { url } = await startTestServer(t, { transport });
      const answer = await fetch(`${url}/client/python/jq_cluster-0.0.1-py3-none-any.whl`);
      assert.equal(answer.status, 404);
      assert.match(((await answer.json()) as { detail: string }).detail, /is called jq_cluster-.*\.whl$/);
    });
  });
}

describe('with Python', needsPython, () => {
  for (const { path: base, version } of PYTHONS) {
    it(`pip of ${version} installs it with no index to ask, by its address or its name, also below a path`, async (t) => {
      const { wheel } = await pythonClient(routeList);
      const path = await environment(t, base);
      for (const transport of ['node', 'auto'] as const) {
        const { url } = await startTestServer(t, { transport, token: 'secret', basePath: '/jq' });
        for (const address of [`${url}/client/python`, `${url}/client/python/${wheel.name}`]) {
          const said = await pip(path, ['--force-reinstall', address]);
          assert.equal(said.code, 0, said.stderr + said.stdout);
        }
      }
      const { stdout } = await python(path, ['-c', VERSION]);
      assert.equal(`jq_cluster-${stdout.trim()}-py3-none-any.whl`, wheel.name);
    });
  }

  it('the wheel is one file that a program may also take as it is', async (t) => {
    const { url } = await startTestServer(t);
    const { wheel } = await pythonClient(routeList);
    const take = `import sys, urllib.request as u; sys.path.insert(0, u.urlretrieve(sys.argv[1], sys.argv[2])[0]); ${VERSION}`;
    const file = `${await temporaryDirectory(t)}/client.whl`;
    for (const { path } of PYTHONS) {
      const said = await python(path, ['-c', take, `${url}/client/python/${wheel.name}`, file]);
      assert.match(said.stdout, new RegExp(`^${PACKAGE_VERSION.replaceAll('.', '\\.')}\\+api`), said.stderr);
      // As notebooks and logs print it.
      const raising = [
        'import sys, traceback; sys.path.insert(0, sys.argv[1]); import jq_cluster',
        'try: jq_cluster.Dataset([[1.0]], [1, 2])',
        'except ValueError: traceback.print_exc()',
      ].join('\n');
      const { stderr } = await python(path, ['-c', raising, file]);
      assert.match(
        stderr,
        /File ".*client\.whl\/jq_cluster\/_datasets\.py", line \d+, in _add\n +raise InputError/,
      );
    }
  });
});
