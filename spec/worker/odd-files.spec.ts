import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import pino from 'pino';
import { attemptPaths } from '../../actors/worker/attempt/paths.ts';
import { recoverLeftovers } from '../../actors/worker/attempt/recover-leftovers.ts';
import { endMarked } from '../../actors/worker/child/leftovers.ts';
import type { Runner } from '../../actors/worker/config.ts';
import { openPlain, readPlain, UnfitFileError } from '../../actors/worker/files.ts';
import { inTime } from '../support/in-time.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { atEnd, exists, freePipes, temporaryFolder } from './folder.ts';
import { silent } from './quick.ts';
import { startTestWorker, submit, taskIn } from './support.ts';

/** What a hostile or unlucky task may put in the place of a file. */
const ODD: Record<string, (path: string) => unknown> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a folder': (path) => mkdir(path),
  'a link to an endless device': (path) => symlink('/dev/zero', path),
  'a link to a file outside': (path) => symlink('/etc/hostname', path),
  'a link to nothing': (path) => symlink('/no/such/file', path),
};

describe('opening a file that a task may have made', () => {
  for (const [what, make] of Object.entries(ODD)) {
    it(`refuses ${what}, and does not block`, async (t) => {
      const folder = await temporaryFolder(t);
      await make(join(folder, 'result.json'));
      freePipes(t, folder);
      const opening = openPlain(folder, join(folder, 'result.json'));
      await assert.rejects(inTime('an answer', opening), UnfitFileError);
    });
  }

  it('refuses a socket and a device', async (t) => {
    const folder = await temporaryFolder(t);
    await assert.rejects(openPlain('/dev', '/dev/null'), /null is a device or socket, not a file/);
    const script = `require('net').createServer().listen(${JSON.stringify(join(folder, 's'))}, () => process.kill(process.pid))`;
    assert.throws(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' }));
    await assert.rejects(openPlain(folder, join(folder, 's')), /s is a device or socket, not a file/);
  });

  it('refuses a file that lies beyond a link, or outside the folder', async (t) => {
    const folder = await temporaryFolder(t);
    await symlink('/etc', join(folder, 'output'));
    await assert.rejects(openPlain(folder, join(folder, 'output', 'hostname')), /lies behind a link/);
    await assert.rejects(openPlain(folder, '/etc/hostname'), /lies elsewhere/);
    await assert.rejects(openPlain(folder, join(folder, '..')), /lies elsewhere/);
  });

  it('accepts a folder that is itself reached by a link, as the owner may have placed it', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'big-disk'));
    await writeFile(join(folder, 'big-disk', 'result.json'), '{}');
    await symlink(join(folder, 'big-disk'), join(folder, 'state'));
    assert.equal(await readPlain(join(folder, 'state'), join(folder, 'state', 'result.json'), 10), '{}');
  });

  it('reads no more than it is allowed to, whatever size the file system reports', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'result.json'), 'x'.repeat(100_001));
    const read = (bytes: number) => readPlain(folder, join(folder, 'result.json'), bytes);
    assert.equal((await read(100_001)).length, 100_001);
    await assert.rejects(read(100_000), /result.json has 100001 bytes; 100000 are allowed/);
    // A file of the system that says it is empty.
    await assert.rejects(readPlain('/proc', '/proc/cpuinfo', 10), /more than the 10 bytes/);
  });
});

/** A runner in shell: `$ws`, `$out` and `$result` are what it was given; it starts in the folder of the attempt. */
const shellRunner = (script: string): Runner => ({
  library: 'demo',
  command: ['/bin/sh', '-c', `ws=$4 out=$6 result=$8; cd "$ws/.."; ${script}`, 'runner'],
  packages: { demo: '1.0' },
});

const GOOD = `echo '{"status":"succeeded"}' > "$result"`;

/** Runs tasks of these scripts on one worker with a slot for each, then a healthy one. */
async function survives(t: TestContext, scripts: string[]) {
  // What waits at a pipe is freed before the server ends, whose store needs the same threads.
  const folder = await temporaryFolder(t);
  const server = await startTestServer(t);
  // One script a task, in the order in which they come.
  const choose = `n=0; until mkdir ${folder}/$n 2>/dev/null; do n=$((n+1)); done; case $n in ${scripts
    .map((script, n) => `${n}) ${script} ;;`)
    .join(' ')} *) ${GOOD} ;; esac`;
  const runners = [shellRunner(choose)];
  const { state } = await startTestWorker(t, server, { slots: scripts.length, runners });
  freePipes(t, state);
  const once = { retry: { max_attempts: 1 }, outputs: { keep_task_workspace: true } };
  const jobs = await Promise.all(scripts.map(() => submit(server, {}, once)));
  const tasks = await Promise.all(jobs.map((job) => taskIn(server, job)));
  const last = await taskIn(server, await submit(server, {}));
  assert.equal(last.status, 'succeeded', 'the worker works on');
  return { server, jobs, tasks, state };
}

describe('a task that leaves something else in the place of a file', () => {
  it('fails, and holds neither its slot nor the threads that all files share', async (t) => {
    const pipe = 'mkfifo "$result"';
    const scripts = [pipe, pipe, pipe, pipe, pipe, 'mkdir "$result"', 'ln -s /dev/zero "$result"'];
    const { tasks } = await survives(t, scripts);
    const errors = tasks.map(({ status, error }) => `${status}: ${error}`).sort();
    assert.equal(
      errors.filter((error) => /^failed: .*result.json is a pipe, not a file/.test(error)).length,
      5,
    );
    assert.ok(errors.some((error) => /result.json is a folder/.test(error)));
    assert.ok(errors.some((error) => /result.json is a link/.test(error)));
  });

  it('loses the files that it replaced, and nothing else', async (t) => {
    const { server, jobs, tasks } = await survives(t, [
      `echo said; rm run.log; mkfifo run.log; echo m > "$out/best_model.json"; ${GOOD}`,
      `ln -s /etc/hostname "$out/best_model.json"; mkfifo "$ws/pipe"; echo n > "$ws/notes"; ${GOOD}`,
      `rmdir "$out"; ln -s /etc "$out"; mkfifo workspace.zip; echo n > "$ws/notes"; ${GOOD}`,
    ]);
    assert.deepEqual(
      tasks.map(({ status, error }) => `${status} ${error}`),
      ['succeeded null', 'succeeded null', 'succeeded null'],
    );
    const lists = await Promise.all(
      jobs.map((id) => server.client.call('listJobArtifacts', { params: { id } })),
    );
    const roles = lists
      .map((list) =>
        list
          .map(({ role }) => role)
          .sort()
          .join(' '),
      )
      .sort();
    assert.deepEqual(roles, ['logs workspace', 'logs workspace', 'model']);
  });

  it('fails by a fault of its own where it removes its directory, and its worker takes more', async (t) => {
    const gone = 'cd /; rm -rf "$(dirname "$ws")"';
    const { server, jobs, tasks } = await survives(t, [gone, `${gone}; exit 1`, gone, `${gone}; exit 3`]);
    assert.deepEqual([...new Set(tasks.map(({ status }) => status))], ['failed']);
    const events = await Promise.all(
      jobs.map((id) => server.client.call('listJobEvents', { params: { id } })),
    );
    const failures = events.flat().filter(({ type }) => type === 'task_failed');
    assert.deepEqual(
      failures.map(({ data }) => data.fault),
      Array(4).fill('task'),
    );
    assert.equal((await server.client.call('listWorkers'))[0]?.suspended, null);
  });

  it('keeps its result where a file says that it is longer than any disk, and loses that file', async (t) => {
    const { server, jobs, tasks } = await survives(t, [
      `truncate -s 8T "$out/huge.bin"; echo n > "$out/notes"; ${GOOD}`,
      `truncate -s 8T "$ws/huge.bin"; ${GOOD}`,
    ]);
    assert.deepEqual(
      tasks.map(({ status }) => status),
      ['succeeded', 'succeeded'],
    );
    const lists = await Promise.all(
      jobs.map((id) => server.client.call('listJobArtifacts', { params: { id } })),
    );
    const names = lists.map((list) => list.map(({ filename }) => filename).sort());
    assert.deepEqual(names.sort(), [['notes', 'run.log'], ['run.log']].sort());
    const told = await Promise.all(jobs.map((id) => server.client.call('listJobEvents', { params: { id } })));
    const said = told.flat().map(({ message }) => message);
    assert.ok(said.some((line) => /the output huge.bin could not be uploaded: .*at most/.test(line)));
    assert.ok(said.some((line) => /workspace cannot be kept: it has more than/.test(line)));
  });
});

describe('a directory that a task filled with pipes before its worker was killed', () => {
  it('does not keep the next worker from starting', async (t) => {
    const state = await temporaryFolder(t);
    let tidying: Promise<unknown> = Promise.resolve();
    // While it still waits at a pipe, the pipe must not go.
    atEnd(t, () => tidying.catch(() => {}));
    freePipes(t, state);
    const [piped, logged] = ['task_1', 'task_2'].map((task_id) =>
      attemptPaths(state, { task_id, attempt: 1 }),
    );
    assert.ok(piped && logged);
    for (const { root } of [piped, logged]) await mkdir(root, { recursive: true });
    for (const path of [piped.attempt, piped.log, logged.log]) {
      execFileSync('mkfifo', [path]);
    }
    await writeFile(logged.attempt, '{"task_id":"task_2","attempt":1,"worker_id":"worker_1"}');
    const tidied = recoverLeftovers(state, [], silent);
    tidying = tidied;
    const interrupted = await inTime('the tidying', tidied);
    assert.deepEqual(
      interrupted.map(({ ref, files }) => [ref.task_id, files]),
      [['task_2', []]],
    );
    assert.deepEqual(await readdir(join(state, 'tasks')), ['task_2']);
    assert.equal(await exists(piped.root), false);
    assert.equal(await endMarked(logged.attempt), false);
  });
});

describe('a folder that nests deeper than a path may be long', () => {
  const NAME = 'd'.repeat(200);
  const STEPS = `const n = "${NAME}"; for (let i = 0; i < 50; i++) { fs.mkdirSync(n); process.chdir(n); }`;
  const deep = (folder: string) => `(cd "${folder}"; '${process.execPath}' -e '${STEPS}')`;

  /** Makes one of 10,000 characters without changing into it: what is there comes to the end of what is new. */
  async function nest(folder: string): Promise<void> {
    const end = join(folder, ...Array<string>(10).fill(NAME));
    for (let i = 0; i < 5; i++) {
      await mkdir(dirname(end), { recursive: true });
      if (i > 0) await rename(join(folder, 'before'), end);
      await rename(join(folder, NAME), join(folder, 'before'));
    }
  }

  it('goes with its task', async (t) => {
    const { tasks, state } = await survives(t, [
      `${deep('$ws')}; ${GOOD}`,
      `${deep('$out')}; ${deep('$ws')}; mkdir "$ws/x"; ${deep('$ws/x')}; ${GOOD}`,
    ]);
    assert.deepEqual(
      tasks.map(({ status }) => status),
      ['succeeded', 'succeeded'],
    );
    await until('nothing to be left', async () => (await readdir(join(state, 'tasks'))).length === 0);
  });

  it('does not keep the next worker from starting, and goes then', async (t) => {
    const state = await temporaryFolder(t);
    const { root, workspace } = attemptPaths(state, { task_id: 'task_1', attempt: 1 });
    await nest(workspace);
    await recoverLeftovers(state, [], silent);
    assert.equal(await exists(root), false);
  });
});

describe('a folder of a task that cannot be removed', () => {
  const title = 'does not keep the next worker from starting, which says where it is, and removes the others';
  it(title, requires('small disk'), async (t) => {
    const state = await temporaryFolder(t);
    const [held, other] = ['task_1', 'task_2'].map((task_id) => attemptPaths(state, { task_id, attempt: 1 }));
    assert.ok(held && other);
    for (const { workspace } of [held, other]) await mkdir(join(workspace, 'kept'), { recursive: true });
    // What a file system is mounted on stays.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', join(held.workspace, 'kept')]);
    atEnd(t, () => execFileSync('umount', [join(held.workspace, 'kept')]));
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    await recoverLeftovers(state, [], log);
    assert.deepEqual([await exists(held.root), await exists(other.root)], [true, false]);
    assert.match(lines.join(''), /task_1.*cannot be removed; remove it by hand/);
  });
});
