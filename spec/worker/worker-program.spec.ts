import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startTestServer } from '../support/server.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { rawZip } from './raw-zip.ts';
import { isAlive, pidIn, submit, taskIn } from './support.ts';

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** A runner in shell: leaves a process behind, and goes on until there is a file beside it. */
const RUNNER = `#!/bin/sh
sleep 1000 & echo $! > "$0.pid"
while [ ! -e "$0.go" ]; do sleep 0.05; done
path=$(sed 's/.*"dataset":{"mode":"path","path":"\\([^"]*\\)".*/\\1/' "$2")
echo "{\\"status\\":\\"succeeded\\",\\"extra\\":{\\"dataset\\":\\"$path\\"}}" > "$8"
`;

describe('jq-worker', () => {
  it('takes its runners, its Python and its catalog from the command line; jqctl cancel ends all of a task', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryFolder(t);
    const at = (name: string) => join(folder, name);
    const zip = rawZip([{ name: 'x.csv', data: '1' }]);
    await writeFile(at('corn.zip'), zip);
    await writeFile(at('sets.yaml'), `- {id: corn, version: 1.0, path: corn.zip, sha256: ${sha256(zip)}}\n`);
    await writeFile(at('run.sh'), RUNNER, { mode: 0o755 });
    const answer = '{"executable":"/opt/python","version":"3.12.4","packages":{"numpy":"2.1"}}';
    await writeFile(at('python'), `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
    const flags = [
      ...['--server', server.url, '--state', at('state'), '--python', at('python')],
      ...['--runner', `slow@1.5=sh ${at('run.sh')}`, '--catalog', at('sets.yaml')],
      ...['--cache-dir', at('cache'), '--cache-gb', '0.5'],
    ];
    const worker = spawn(inRepository('bin/jq-worker'), flags, { stdio: 'ignore' });
    atEnd(t, () => worker.kill('SIGKILL'));
    const view = await until('the worker', async () => (await server.client.call('listWorkers'))[0]);
    const { packages, python } = view.version;
    assert.deepEqual([packages?.slow, packages?.numpy, python], ['1.5', '2.1', '3.12.4']);
    assert.ok(packages?.mljs);

    const dataset = { kind: 'catalog', catalog_id: 'corn' };
    const job = await submit(server, {}, { type: 'slow.run', dataset });
    const sleeping = await pidIn(at('run.sh.pid'));
    assert.deepEqual(await readdir(at('cache/entries')), [`${sha256(zip)}-zip`]);
    await promisify(execFile)(inRepository('bin/jqctl'), ['cancel', job, '--server', server.url]);
    await taskIn(server, job, 'cancelled');
    assert.equal(isAlive(sleeping), false);

    await writeFile(at('run.sh.go'), '');
    const done = await taskIn(server, await submit(server, {}, { type: 'slow.run', dataset }));
    assert.equal(done.status, 'succeeded', `${done.error}`);
    const { dataset: path } = (done.result?.extra ?? {}) as { dataset: string };
    assert.equal(await readFile(join(path, 'x.csv'), 'utf8'), '1');

    worker.kill('SIGTERM');
    const [code] = await once(worker, 'exit');
    assert.equal(code, 0);
    await until('nothing to be left', async () => (await readdir(at('state/tasks'))).length === 0);
  });
});
