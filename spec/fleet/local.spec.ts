import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pipelines } from '../support/job.ts';
import { Program, processesWith, ROOT } from '../support/program.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** A runner in shell that goes on until there is a file beside it. */
const RUNNER = `#!/bin/sh
while [ ! -e "$0.go" ]; do sleep 0.05; done
echo '{"status":"succeeded","metrics":{"best_rmse":1}}' > "$8"
`;

/** A server, and a fleet file for workers of this machine that run `slow.run` until they are let go. */
async function scene(t: TestContext, template: Record<string, unknown> = {}) {
  const server = await startTestServer(t);
  const folder = await temporaryDirectory(t);
  const runner = join(folder, 'run.sh');
  const file = join(folder, 'fleet.yaml');
  await mkdir(join(folder, 'fleet-state'));
  await writeFile(runner, RUNNER, { mode: 0o755 });
  const cpu = { name: 'cpu', engine: 'local', max: 2, idle: '1s', packages: { slow: '1.0' } };
  const worker = ['--runner', `slow@1.0=sh ${runner}`];
  const templates = [{ ...cpu, worker, ...template }];
  await writeFile(file, JSON.stringify({ name: 'lab', interval: '1s', templates }));
  const left = () => processesWith(folder);
  t.after(() => {
    for (const pid of left()) process.kill(pid, 'SIGKILL');
  });
  const command = (...words: string[]) =>
    new Program(process.execPath, [`${ROOT}bin/jqctl`, 'fleet', ...words, file, '--server', server.url]);
  return {
    server,
    left,
    letGo: () => writeFile(`${runner}.go`, ''),
    keep: (...flags: string[]) => command('--json', '--log-level', 'error', ...flags),
    status: async () => {
      const program = command('status');
      await program.ended;
      return program.stdout + program.stderr;
    },
  };
}

const submit = (server: TestServer, count: number, type = 'slow.run') =>
  server.client.call('submitJob', {
    body: { type, pipelines: pipelines(count), dataset: { kind: 'worker_local', path: ROOT } },
  });

const tasks = async ({ client }: TestServer) => (await client.call('getStats')).tasks_by_status;
const runs = (server: TestServer, count: number) =>
  until(`${count} tasks to run`, async () => (await tasks(server)).running === count, 60);
const haveEnded = (server: TestServer, count: number) =>
  until(`${count} tasks to end`, async () => (await tasks(server)).succeeded === count, 60);

describe('a fleet of processes of this machine', () => {
  it('goes from nothing to nothing; killed and started anew, it asks for nothing twice', async (t) => {
    const { server, left, letGo, keep, status } = await scene(t);
    await submit(server, 3);
    assert.match(
      await status(),
      /nobody keeps fleet lab[\s\S]*cpu +local +0 +0 +2 +3 +2 +it may have no more/,
    );
    await submit(server, 1, 'other.run');
    assert.match(
      await status(),
      /nobody serves 1 slot with packages\.other:\n {2}cpu does not have packages\.other$/m,
    );
    const first = keep();
    await runs(server, 2);
    await first.kill();
    const second = keep();
    await second.announced('started');
    assert.match(await status(), /fleet lab is kept[\s\S]*cpu +local +2 +0 +2 +1 +0 +it may have no more/);
    assert.equal((await server.client.call('listWorkers')).length, 2);
    await letGo();
    await haveEnded(server, 3);
    await until(
      'the workers to leave',
      async () => (await server.client.call('getStats')).workers_alive === 0,
      60,
    );
    await second.terminate();
    assert.deepEqual(left(), []);
  });

  it('lets its workers finish at its end, and then is gone; with --keep they go on', async (t) => {
    const { server, left, letGo, keep } = await scene(t, { idle: '1h', walltime: '1h' });
    await submit(server, 1);
    const first = keep('--keep');
    await runs(server, 1);
    const [worker] = await server.client.call('listWorkers');
    const ends = Number(worker?.capabilities.ends_at) - Date.now() / 1000;
    assert.ok(ends > 3300 && ends < 3600, `it knows its end, in ${ends} s`);
    await first.terminate();
    assert.ok(left().length > 0);
    const second = keep();
    await second.announced('started');
    second.child.kill('SIGTERM');
    await second.announced('stopping');
    await until('its worker to be told', async () =>
      (await server.client.call('listWorkers')).some(({ leaving }) => leaving === 'draining'),
    );
    assert.equal((await tasks(server)).running, 1);
    await letGo();
    assert.equal((await second.ended).code, 0);
    assert.equal((await tasks(server)).succeeded, 1);
    assert.deepEqual(left(), []);
  });

  it('says why its workers cannot start, and is kept by one program at a time', async (t) => {
    const { server, keep, status } = await scene(t, { worker: ['--runner', 'slow@1.0=/no/such/runner'] });
    await submit(server, 1);
    const first = keep();
    await first.announced('started');
    const why =
      /it pauses for another \d+ s: lab\.cpu\.1 ended with exit code 2: error: .*\/no\/such\/runner/;
    await until('the reason', async () => why.test(await status()), 60);
    const second = keep();
    assert.equal((await second.ended).code, 2);
    assert.match(second.stderr, /in use by another process/);
    await first.terminate();
  });
});
