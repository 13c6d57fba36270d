import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Runner } from '../../actors/worker/config.ts';
import { settingsOf } from '../../actors/worker/config.ts';
import { RunnerFiles } from '../../actors/worker/runners/runner-files.ts';
import { selfTest } from '../../actors/worker/self-test.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { demoRunner } from './demo-runner.ts';
import { temporaryFolder } from './folder.ts';
import { silent } from './quick.ts';
import { smallDisk } from './small-disk.ts';
import { serverAndWorker, startTestWorker, submit, taskIn } from './support.ts';

const recovery = { baseMs: 50, maxMs: 200 };

/** The reason why the only worker is suspended; null while it is not. */
async function reasonOf(server: TestServer): Promise<string | null> {
  const [worker] = await server.client.call('listWorkers');
  return worker?.suspended ?? null;
}

/** A runner whose interpreter a test can take away. */
async function ownInterpreter(t: TestContext): Promise<{ runner: Runner; interpreter: string }> {
  const interpreter = join(await temporaryFolder(t), 'sh');
  await copyFile('/bin/sh', interpreter);
  await chmod(interpreter, 0o755);
  const script = 'echo \'{"status":"succeeded"}\' > "$8"';
  return { runner: { ...demoRunner, command: [interpreter, '-c', script, 'runner'] }, interpreter };
}

describe('a worker whose interpreter is removed', () => {
  it('asks for no more tasks after three failures, says why, and resumes when the interpreter is back', async (t) => {
    const server = await startTestServer(t);
    const { runner, interpreter } = await ownInterpreter(t);
    await startTestWorker(t, server, { runners: [runner], recovery });
    assert.equal((await taskIn(server, await submit(server, {}))).status, 'succeeded');
    await rename(interpreter, `${interpreter}.away`);
    const jobs = await Promise.all(Array.from({ length: 6 }, () => submit(server, {})));
    await until('the suspension', async () =>
      /cannot start the runner|no program/.test(`${await reasonOf(server)}`),
    );
    await until('a look at itself', async () =>
      /it looked at itself: .*sh is gone/.test(`${await reasonOf(server)}`),
    );
    const events = await server.client.call('listEvents', { query: { limit: 1000 } });
    const leased = events.filter(({ type }) => type === 'task_leased').length;
    assert.equal(leased, 4, 'one before, and three that it could not run');
    await rename(`${interpreter}.away`, interpreter);
    await until('its return', async () => (await reasonOf(server)) === null);
    const tasks = await Promise.all(jobs.map((job) => taskIn(server, job)));
    assert.ok(tasks.filter(({ status }) => status === 'succeeded').length >= 3);
  });
});

describe('a worker whose runner does nothing, and ends as if all were well', () => {
  /** A runner as people write them: an interpreter and a script, each of which may be damaged. */
  async function ownScript(t: TestContext) {
    const { interpreter } = await ownInterpreter(t);
    const script = join(await temporaryFolder(t), 'run.sh');
    await writeFile(script, 'echo \'{"status":"succeeded"}\' > "$8"\n');
    return { runner: { ...demoRunner, command: [interpreter, script] } as Runner, interpreter, script };
  }
  type Own = Awaited<ReturnType<typeof ownScript>>;

  /** Something else in its place; not written into it, as its program may still be ending. */
  async function replace(path: string, by: string) {
    await writeFile(`${path}.new`, by);
    await chmod(`${path}.new`, 0o755);
    await rename(`${path}.new`, path);
  }
  const ways: [string, (own: Own) => Promise<void>, RegExp][] = [
    [
      'since its interpreter was cut to nothing, which a shell runs as an empty script',
      ({ interpreter }) => replace(interpreter, ''),
      /cannot start the runner: \S+sh is empty/,
    ],
    [
      'since its script was cut to nothing',
      ({ script }) => replace(script, ''),
      /cannot start the runner: \S+run\.sh is empty/,
    ],
    [
      'since another program is in the place of its interpreter',
      ({ interpreter }) => replace(interpreter, '#!/bin/sh\nexit 0\n'),
      /\S+sh has changed since the runner last worked here/,
    ],
    [
      'since another program is in the place of its interpreter, which fails',
      ({ interpreter }) => replace(interpreter, '#!/bin/sh\nexit 1\n'),
      /\S+sh has changed since the runner last worked here/,
    ],
  ];
  for (const [what, damage, why] of ways) {
    it(`says so, ${what}, and leaves the tasks to a healthy one`, async (t) => {
      const server = await startTestServer(t);
      const own = await ownScript(t);
      await startTestWorker(t, server, { runners: [own.runner], recovery });
      assert.equal((await taskIn(server, await submit(server, {}))).status, 'succeeded');
      await damage(own);
      const once = { retry: { max_attempts: 1 } };
      // Nobody else is there: it is the first one's that it fails.
      const failed = await taskIn(server, await submit(server, {}, once));
      assert.deepEqual([failed.status, why.test(`${failed.error}`)], ['failed', true], `${failed.error}`);
      await startTestWorker(t, server, { name: 'healthy' });
      await until('two of them', async () => (await server.client.call('listWorkers')).length === 2);
      const jobs = await Promise.all(Array.from({ length: 6 }, () => submit(server, { do: 'echo' }, once)));
      for (const job of jobs) {
        const task = await taskIn(server, job);
        assert.equal(task.status, 'succeeded', `${task.error}`);
      }
    });
  }

  it('says so also where that was so when it began', async (t) => {
    const { runner, script } = await ownScript(t);
    await truncate(script);
    const { server } = await serverAndWorker(t, { runners: [runner], recovery });
    const task = await taskIn(server, await submit(server, {}));
    assert.match(`${task.error}`, /cannot start the runner: \S+run\.sh is empty/);
  });

  it('says so where the runner, tried by itself, does not work', async (t) => {
    const { runner } = await ownScript(t);
    const library = join(await temporaryFolder(t), 'library');
    await writeFile(library, '');
    const command = [...runner.command.slice(0, 1), '-c', 'exit 0', 'runner'];
    const check = ['/bin/sh', '-c', `test -s ${library} && echo 1.0`];
    const { server } = await serverAndWorker(t, { runners: [{ ...runner, command, check }], recovery });
    const jobs = [submit(server, {}), submit(server, {}), submit(server, {})];
    const failed = await Promise.all(jobs.map(async (job) => taskIn(server, await job)));
    for (const { error } of failed)
      assert.match(
        `${error}`,
        /the runner of demo does not work: exit code 1: the analysis ended without writing a result/,
      );
    await until('the suspension', async () => /does not work/.test(`${await reasonOf(server)}`));
    await writeFile(library, 'whole');
    await until('its return', async () => (await reasonOf(server)) === null);
    // Now it is sound, and what it runs is at fault.
    const task = await taskIn(server, await submit(server, {}, { retry: { max_attempts: 1 } }));
    assert.equal(task.error, 'the analysis ended without writing a result');
    assert.equal(await reasonOf(server), null);
  });

  it('is not blamed for a task that fails after its script was changed, once another one has succeeded', async (t) => {
    const { runner, script } = await ownScript(t);
    const { server } = await serverAndWorker(t, { runners: [runner], recovery });
    assert.equal((await taskIn(server, await submit(server, {}))).status, 'succeeded');
    const fails = 'grep -q bad "$2" && { echo "ValueError: bad" >&2; exit 1; }\n';
    await writeFile(script, `${fails}echo '{"status":"succeeded"}' > "$8"\n`);
    assert.equal((await taskIn(server, await submit(server, {}))).status, 'succeeded');
    const task = await taskIn(server, await submit(server, { bad: 1 }, { retry: { max_attempts: 1 } }));
    assert.equal(task.error, 'ValueError: bad');
  });
});

describe('a worker whose disk is full', () => {
  it(
    'reports it as that, asks for no more tasks, and resumes when there is room',
    requires('small disk'),
    async (t) => {
      const disk = smallDisk(t, 8);
      const { server } = await serverAndWorker(t, { state: join(disk.path, 'state'), recovery });
      assert.equal((await taskIn(server, await submit(server, { do: 'echo' }))).status, 'succeeded');
      // What it still removes would give the next tasks room.
      await until('it to be done', async () => (await readdir(join(disk.path, 'state/tasks'))).length === 0);
      disk.fill();
      const jobs = await Promise.all(Array.from({ length: 5 }, () => submit(server, { do: 'echo' })));
      await until('the suspension', async () =>
        /its disk is full \(ENOSPC/.test(`${await reasonOf(server)}`),
      );
      disk.clear();
      await until('its return', async () => (await reasonOf(server)) === null);
      const tasks = await Promise.all(jobs.map((job) => taskIn(server, job)));
      const errors = tasks.filter(({ status }) => status === 'failed').map(({ error }) => `${error}`);
      assert.ok(
        errors.every((error) => /its disk is full/.test(error)),
        errors.join('\n'),
      );
      assert.ok(tasks.filter(({ status }) => status === 'succeeded').length >= 2);
    },
  );

  it(
    'reports a result that the disk did not take as that, not as invalid JSON',
    requires('small disk'),
    async (t) => {
      const disk = smallDisk(t, 4);
      const server = await startTestServer(t);
      // Half a result, no line for the log, and room for what the worker itself has to say of it.
      const fill = 'head -c 32768 /dev/zero > "$4/room"; cat /dev/zero > "$4/zeros"; rm "$4/room"';
      const script = `exec 2> /dev/null; printf '{"status":' > "$8"; ${fill}; exit 0`;
      const runner = { ...demoRunner, command: ['/bin/sh', '-c', script, 'runner'] };
      await startTestWorker(t, server, { state: join(disk.path, 'state'), runners: [runner], recovery });
      const task = await taskIn(server, await submit(server, {}));
      assert.equal(task.status, 'failed');
      assert.match(`${task.error}`, /its disk is full \(ENOSPC/);
    },
  );
});

describe('the examination of a suspended worker', () => {
  async function look(t: TestContext, differs: object, after: (state: string) => unknown = () => {}) {
    const state = await temporaryFolder(t);
    const settings = settingsOf({ server: '', state, slots: 1, runners: [], log: silent, ...differs });
    const files = new Map<string, RunnerFiles>();
    for (const { library, command } of settings.runners) files.set(library, await RunnerFiles.of(command));
    await after(state);
    const looked = { settings, filesOf: (library: string) => files.get(library) };
    return selfTest(looked, new AbortController().signal);
  }
  const runnerOf = (command: string[], check?: string[]): Runner => ({
    library: 'demo',
    command,
    packages: {},
    check,
  });

  it('finds it well when nothing is missing', async (t) => {
    const folder = await temporaryFolder(t);
    const runners = [runnerOf(['sh', '-c', 'true'], ['sh', '-c', 'echo 1.0'])];
    await writeFile(join(folder, 'catalog.json'), '[]');
    const catalog = join(folder, 'catalog.json');
    assert.equal(await look(t, { runners, datasets: { corn: folder }, catalog, cacheDir: folder }), null);
  });

  it('names what is wrong: the disk, the interpreter, a library, a share', async (t) => {
    const folder = await temporaryFolder(t);
    const gone = (state: string) => rm(state, { recursive: true });
    assert.match(`${await look(t, {}, gone)}`, /cannot use its own files \(ENOENT/);
    const cacheDir = join(folder, 'cache');
    await writeFile(join(folder, 'catalog.json'), '[]');
    const catalog = join(folder, 'catalog.json');
    assert.match(`${await look(t, { catalog, cacheDir })}`, /ENOENT.*cache/);
    await mkdir(cacheDir);
    assert.match(
      `${await look(t, { catalog: join(folder, 'no.json'), cacheDir })}`,
      /catalog does not exist/,
    );
    const cases: [Runner, RegExp][] = [
      [runnerOf(['no-such-program']), /the runner of demo cannot be started: no program 'no-such-program'/],
      [
        runnerOf(['sh'], ['sh', '-c', 'echo "ImportError: no libblas" >&2; exit 1']),
        /does not work: ImportError/,
      ],
      [runnerOf(['sh'], ['sh', '-c', 'exit 0']), /the runner of demo does not work: sh says nothing/],
    ];
    for (const [runner, message] of cases) assert.match(`${await look(t, { runners: [runner] })}`, message);
    const script = join(folder, 'run.py');
    await writeFile(script, 'true');
    const own = { runners: [runnerOf(['sh', script])] };
    assert.match(`${await look(t, own, () => truncate(script))}`, /run\.py is empty/);
    // As one that only has to be there is.
    assert.equal(await look(t, own), null);
    assert.match(`${await look(t, own, () => rm(script))}`, /run\.py is gone/);
    assert.match(
      `${await look(t, { datasets: { corn: '/no/share' } })}`,
      /dataset 'corn' cannot be read: \/no\/share/,
    );
  });
});
