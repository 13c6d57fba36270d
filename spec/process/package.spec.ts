import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { installation } from '../support/installation.ts';
import { ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';

const run = promisify(execFile);

/** A folder of somebody else, in which the package is installed as npm packs it, with what it depends on alone. */
async function installed(t: TestContext): Promise<string> {
  const home = await installation(t);
  const { stdout } = await run('npm', ['pack', '--pack-destination', home], { cwd: home });
  const app = await temporaryDirectory(t);
  const packages = join(app, 'node_modules');
  await mkdir(packages);
  await run('tar', ['-xzf', join(home, stdout.trim().split('\n').at(-1) ?? ''), '-C', packages]);
  await rename(join(packages, 'package'), join(packages, 'jq-cluster'));
  const { dependencies } = JSON.parse(await readFile(join(packages, 'jq-cluster/package.json'), 'utf8'));
  // Who writes TypeScript for Node has its types.
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    await mkdir(dirname(join(packages, name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(packages, name));
  }
  await writeFile(join(app, 'package.json'), '{"type":"module"}');
  return app;
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

describe('the package that npm makes', requires('npm'), () => {
  it('holds a client for Node.js with its types, and programs that run', async (t) => {
    const app = await installed(t);
    const file = (name: string) => join(app, name);
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const flags = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      'node',
      '--singleThreaded',
    ];

    await writeFile(file('right.ts'), PROGRAM);
    await writeFile(file('wrong.ts'), PROGRAM + WRONG);
    await run(tsc, [...flags, 'right.ts', 'wrong.ts'], { cwd: app });

    const server = await startTestServer(t);
    const { stdout } = await run(process.execPath, ['right.js', server.url], { cwd: app });
    assert.equal(stdout, 'job_submitted\n1\nunknown_id\n');

    const jqctl = file('node_modules/jq-cluster/bin/jqctl');
    const stats = await run(process.execPath, [jqctl, 'stats', '--server', server.url], { cwd: app });
    assert.match(stats.stdout, /queued/);
  });
});
