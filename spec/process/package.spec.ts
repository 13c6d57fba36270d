import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { routeList } from '../../gateway/contract/routes.ts';
import { pythonClient } from '../../gateway/python/wheel.ts';
import { dashboardPage } from '../../gateway/ui/page.ts';
import { installation } from '../support/installation.ts';
import { Program, ROOT } from '../support/program.ts';
import { startRegistry } from '../support/registry.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

const NOTICES = new URL('../../bin/pack/notices.js', import.meta.url).href;

/** What is there once the sources have been made into the code of a package, and is no business of who installs one. */
const MAKERS = ['esbuild', 'tsx', 'typescript'];

/** A folder of somebody else, empty but for a manifest, in which npm installed the package that it had packed. */
async function installed(t: TestContext): Promise<string> {
  const [home, app] = [await installation(t), await temporaryDirectory(t)];
  const { stdout } = await run('npm', ['pack', '--pack-destination', home], { cwd: home });
  await writeFile(join(app, 'package.json'), '{"type":"module"}');
  const flags = [
    '--registry',
    await startRegistry(t),
    '--cache',
    join(home, 'cache'),
    '--no-audit',
    '--no-fund',
  ];
  // Its scripts compile the driver of SQLite anew, and the other transport is large.
  const without = ['--ignore-scripts', '--omit=optional'];
  const tarball = join(home, stdout.trim().split('\n').at(-1) ?? '');
  await run('npm', ['install', ...flags, ...without, tarball], { cwd: app });
  await linked(app, 'uWebSockets.js');
  return app;
}

async function linked(app: string, name: string): Promise<void> {
  const from = join(ROOT, 'node_modules', name);
  if (existsSync(from)) await symlink(from, join(app, 'node_modules', name));
}

const PROGRAM = `
import { ClusterClient, eventStream, type JobView, ResponseError } from 'jq-cluster/client';

const client = new ClusterClient({ server: process.argv[2] ?? '' });
const job: JobView = await client.call('submitJob', {
  body: {
    type: 'demo.run',
    pipeline: { kind: 'path', path: 'p.yaml' },
    dataset: { kind: 'shared_path', path: '/d' },
  },
});
for await (const { type } of eventStream({ client, jobId: job.id })) {
  console.log(type);
  break;
}
const { length } = await client.call('listJobs', { query: { status: 'queued' } });
console.log(length);
try {
  await client.call('getJob', { params: { id: 'job_none' } });
} catch (error) {
  if (error instanceof ResponseError) console.log(error.code);
}
await client.close();
`;

/** Lines that the compiler must refuse. */
const WRONG = `
// @ts-expect-error there is no such route
await client.call('nothing');
// @ts-expect-error a priority is a number
await client.call('submitJob', { body: { priority: 'high' } });
// @ts-expect-error an id is text
export const id: number = job.id;
`;

it('the package that npm makes, installed elsewhere', requires('npm'), async (t) => {
  const app = await installed(t);
  const inPackage = (name: string) => join(app, 'node_modules/jq-cluster', name);
  /** A program as `npx` finds it. */
  const program = (name: string) => join(app, 'node_modules/.bin', name);

  await t.test(
    'brings compiled code alone: no sources, and nothing that would make code of them',
    async () => {
      const files = await readdir(inPackage('.'), { recursive: true });
      assert.deepEqual(
        files.filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts')),
        [],
      );
      const packages = await readdir(join(app, 'node_modules'));
      assert.deepEqual(
        MAKERS.filter((name) => packages.includes(name)),
        [],
      );
    },
  );

  await t.test('has every file that code finds by its own address', async () => {
    const beside = /new URL\(\s*'([^']+)',\s*import\.meta\.url,?\s*\)/g;
    const folders = ['actors', 'bin', 'gateway', 'machines'];
    const found = await Promise.all(
      folders.map((folder) => readdir(join(ROOT, folder), { recursive: true })),
    );
    const sources = found.flatMap((names, i) => names.map((name) => join(folders[i] as string, name)));
    const wanted = sources
      .filter((name) => name.endsWith('.ts') && !/^bin\/pack|make-page|ui\/client/.test(name))
      .flatMap((name) => {
        const text = readFileSync(join(ROOT, name), 'utf8');
        return [...text.matchAll(beside)].map(([, to]) => join(dirname(name), to as string));
      })
      // The page is made of that source beforehand.
      .filter((name) => !name.endsWith('.tsx'));
    assert.ok(wanted.length > 5);
    assert.deepEqual(
      wanted.filter((name) => !existsSync(inPackage(name))),
      [],
    );
  });

  await t.test(
    'runs a server, a worker and a job from an empty folder, where its results are left',
    async () => {
      const { stdout } = await run(process.execPath, [inPackage('examples/demo.js')], {
        cwd: app,
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      });
      assert.match(stdout, /7 tasks: 7 succeeded/);
      assert.deepEqual(await readdir(join(app, 'demo-results')), ['best_model.json', 'index.csv']);
    },
  );

  await t.test('serves the page and the client for Python that the sources make', async (t) => {
    const flags = ['--port', '0', '--state', join(await temporaryDirectory(t), 'state'), '--json'];
    const server = new Program(program('jq-server'), flags);
    t.after(() => server.kill());
    const { url } = await server.announced('listening');
    assert.equal(await (await fetch(`${url}/ui`)).text(), await dashboardPage('jq-cluster'));
    const client = await fetch(`${url}/client/python`);
    assert.equal(client.headers.get('etag'), `"${(await pythonClient(routeList)).source.sha256}"`);
  });

  await t.test('makes backups by its own program', async (t) => {
    const folder = await temporaryDirectory(t);
    const [state, to] = [join(folder, 'state'), join(folder, 'backups')];
    const server = new Program(program('jq-server'), [
      '--port',
      '0',
      '--state',
      state,
      '--backup-to',
      to,
      '--json',
    ]);
    t.after(() => server.kill());
    await server.announced('listening');
    await until(
      'a backup',
      async () => existsSync(to) && (await readdir(to)).some((name) => name.endsWith('Z')),
    );
  });

  await t.test('has the licence of each package whose code is in it', async () => {
    const said = await readFile(inPackage('dist/THIRD-PARTY.txt'), 'utf8');
    const code = await readdir(inPackage('dist/code'));
    const texts = await Promise.all(
      code.map((name) => readFile(join(inPackage('dist/code'), name), 'utf8').catch(() => '')),
    );
    // The bundler names each file above its code; the page has no such lines.
    const names = texts.flatMap((text) =>
      [...text.matchAll(/^\/\/ .*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(([, name]) => name as string),
    );
    const inIt = new Set([...names, 'preact', '@preact/signals', '@preact/signals-core', 'uplot']);
    assert.ok(inIt.size > 40, `${inIt.size}`);
    for (const name of inIt) assert.ok(said.includes(`\n${name} `), name);
    assert.match(said, /\nclipanion [\s\S]*?Copyright © 2019 Mael Nison[\s\S]*?Permission is hereby granted/);
  });

  await t.test('holds a client for Node.js with its types', async (t) => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const flags = '--strict --module nodenext --target es2022 --types node --singleThreaded'.split(' ');
    // Who writes TypeScript for Node has its types.
    await mkdir(join(app, 'node_modules/@types'));
    await linked(app, '@types/node');
    await writeFile(join(app, 'right.ts'), PROGRAM);
    await writeFile(join(app, 'wrong.ts'), PROGRAM + WRONG);
    await run(tsc, [...flags, 'right.ts', 'wrong.ts'], { cwd: app });

    const server = await startTestServer(t);
    const { stdout } = await run(process.execPath, ['right.js', server.url], { cwd: app });
    assert.equal(stdout, 'job_submitted\n1\nunknown_id\n');

    const stats = await run(program('jqctl'), ['stats', '--server', server.url], { cwd: app });
    assert.match(stats.stdout, /queued/);
  });
});

/** A package in a folder of its own. @returns a file in it */
async function packageOf(t: TestContext, manifest: object, files: Record<string, string>): Promise<string> {
  const folder = join(await temporaryDirectory(t), 'node_modules/some');
  await mkdir(folder, { recursive: true });
  const all = { 'package.json': JSON.stringify(manifest), 'index.js': '', ...files };
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
  return join(folder, 'index.js');
}

describe('the licences of what is bundled', () => {
  const some = { name: 'some', version: '1.2.3', license: 'MIT' };
  const noticesOf = async (file: string) => (await import(NOTICES)).notices([file]) as string;

  it('are those that lie in a package, with what it wants to be told', async (t) => {
    const files = { LICENSE: 'You may.\n', 'NOTICE.txt': 'By us.\n', 'license.js': 'no' };
    const said = await noticesOf(await packageOf(t, some, files));
    assert.match(said, /\n\nsome 1\.2\.3 \(MIT\)\n\nYou may\.\n\nBy us\.\n$/);
  });

  it('are read in its README where they have no file', async (t) => {
    const readme = '# some\n\n## License\n\nPermission is hereby granted to all.\n\n## More\n\nwords\n';
    const said = await noticesOf(await packageOf(t, some, { 'README.md': readme }));
    assert.match(said, /## License\n\nPermission is hereby granted to all\.\n$/);
  });

  it('are asked for: a package without a text, or with a licence that nobody has looked at, is not bundled', async (t) => {
    const texts = { 'README.md': '# some\n\n## License\n\nMIT\n' };
    await assert.rejects(
      noticesOf(await packageOf(t, some, texts)),
      /some 1\.2\.3 .* no text of its licence/,
    );
    const other = { ...some, license: 'GPL-3.0-only' };
    await assert.rejects(
      noticesOf(await packageOf(t, other, { LICENSE: 'x' })),
      /its licence is GPL-3\.0-only/,
    );
  });
});
