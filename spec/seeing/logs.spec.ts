import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import { start } from '../cli/cli-support.ts';
import { bearer } from '../gateway/support.ts';
import { fillable } from '../support/full-disk.ts';
import { JOB } from '../support/job.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

interface Line {
  level: string;
  time: string;
  msg: string;
  [field: string]: unknown;
}

const linesOf = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

/** A server that logs to a file at the level that it has without a flag. */
async function logged(t: TestContext, options: Partial<ServerConfig> = {}) {
  const logFile = join(await temporaryDirectory(t), 'server.log');
  const server = await startTestServer(t, { logLevel: 'info', logFile, ...options });
  return { server, logFile, lines: () => linesOf(logFile) };
}

/** A job of so many tasks. */
const wide = (tasks: number) => ({
  ...{ type: JOB.type, pipeline: JOB.pipeline },
  datasets: Array.from({ length: tasks }, () => JOB.dataset),
  retry: { max_attempts: 1 },
});

/** Takes every task that waits and reports how it went. */
async function work({ client }: Awaited<ReturnType<typeof startTestServer>>, isGood: (n: number) => boolean) {
  const body = { slots_total: 100, version: { packages: { demo: '1' } } };
  const { worker_id } = await client.call('registerWorker', { body });
  for (let n = 0; ; ) {
    const { tasks } = await client.call('lease', { params: { id: worker_id }, body: { max_tasks: 100 } });
    if (!tasks?.length) return worker_id;
    for (const { task_id, attempt } of tasks) {
      const of = { params: { id: task_id }, query: { worker_id, attempt } };
      await client.call('startTask', of);
      if (isGood(n++)) await client.call('completeTask', { ...of, body: {} });
      else await client.call('failTask', { ...of, body: { error: 'it broke', retriable: false } });
    }
  }
}

describe('a line of the log', () => {
  it('has an ISO time, a word for its level, and a sentence', async (t) => {
    const { lines } = await logged(t);
    for (const { time, level, msg } of lines()) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.match(level, /^(info|warn)$/);
      assert.ok(msg.length > 5);
    }
    assert.ok(lines().some(({ msg, url }) => msg === 'listening' && String(url).startsWith('http')));
  });
});

describe('what is logged at the default level of a server', () => {
  it('is a few lines for each job, and none for a task that succeeds', async (t) => {
    const { server, lines } = await logged(t);
    const before = lines().length;
    const { id } = await server.client.call('submitJob', { body: wide(300) });
    const worker_id = await work(server, () => true);
    const told = lines().slice(before);
    assert.deepEqual(
      told.map(({ level, msg }) => [level, msg]),
      [
        ['info', `submitJob ${id} by anonymous`],
        ['info', `worker ${worker_id} registered with 100 slot(s)`],
        ['info', `job ${id} succeeded: 300 of 300 tasks`],
      ],
    );
    assert.deepEqual([told[0]?.tasks, told[0]?.job_id, told[2]?.event], [300, id, 'job_succeeded']);
  });

  it('includes each failure of a task, with what a person needs next', async (t) => {
    const { server, lines } = await logged(t);
    const { id } = await server.client.call('submitJob', { body: wide(3) });
    const worker_id = await work(server, (n) => n > 0);
    const failures = lines().filter(({ event }) => event === 'task_failed');
    assert.equal(failures.length, 1);
    const [{ level, msg, job_id, task_id, worker_id: by }] = failures as [Line];
    assert.match(msg, /failed \(attempt 1 of 1\): it broke$/);
    assert.deepEqual([level, job_id, by], ['error', id, worker_id]);
    assert.match(String(task_id), /^task_/);
  });

  it('includes who asked for a cancellation or a retry, by the id of the request', async (t) => {
    const principals = ['ann:token-of-ann:submitter'];
    const { server, lines } = await logged(t, { principals });
    const post = (path: string, body: object, id: string) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { ...bearer('token-of-ann'), 'X-Request-Id': id, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const { id } = (await (await post('/v1/jobs', JOB, 'req-1')).json()) as { id: string };
    await post(`/v1/jobs/${id}/cancel`, {}, 'req-2');
    const audit = lines().filter((line) => 'audit' in line);
    assert.deepEqual(
      audit.map(({ request_id, principal, audit: what, job_id }) => [request_id, principal, what, job_id]),
      [
        ['req-1', 'ann', 'submitJob', id],
        ['req-2', 'ann', 'cancelJob', id],
      ],
    );
    const refused = await post(`/v1/jobs/${id}/retry`, {}, 'req 3 {"forged":1}');
    const given = refused.headers.get('x-request-id') ?? '';
    assert.match(given, /^[0-9a-f]{8}-\w+$/);
    const line = lines().find(({ request_id }) => request_id === given);
    assert.deepEqual([line?.status, line?.code, line?.principal], [409, 'illegal_transition', 'ann']);
  });

  it('includes who changed a job, and what of it, but for what is written for people', async (t) => {
    const { server, lines } = await logged(t);
    const { id } = await server.client.call('submitJob', { body: JOB });
    const body = { priority: 5, tags: ['a', 'b'], keep: null, note: 'a long story', other: 1 };
    await server.client.call('changeJob', { params: { id }, body });
    const line = lines().find(({ audit }) => audit === 'changeJob');
    const { job_id, priority, tags, keep, note, other } = line ?? ({} as Line);
    assert.deepEqual([job_id, priority, tags, keep, note, other], [id, '5', 'a,b', 'null', '…', undefined]);
  });

  it('includes a refusal with its principal, once a minute however often it happens', async (t) => {
    const principals = ['bob:token-of-bob:viewer'];
    const { server, lines } = await logged(t, { principals });
    const cancel = (token: string) =>
      fetch(`${server.url}/v1/jobs/job_1/cancel`, { method: 'POST', headers: bearer(token) });
    for (let i = 0; i < 20; i++) {
      await cancel('token-of-bob');
      await cancel('token-of-nobody');
    }
    const refusals = lines().filter(({ msg }) => msg.startsWith('refused'));
    assert.deepEqual(
      refusals.map(({ level, status, principal, code }) => [level, status, principal, code]),
      [
        ['warn', 403, 'bob', 'missing_rights'],
        ['warn', 401, null, 'unauthenticated'],
      ],
    );
    assert.doesNotMatch(JSON.stringify(lines()), /token-of/);
  });

  it('includes nothing of what could not be committed', async (t) => {
    const disk = fillable();
    const { server, lines } = await logged(t, { hooks: disk.hooks });
    disk.isFull = true;
    const headers = { 'X-CLUSTER-Version': '0.0.1', 'X-CLUSTER-Role': 'client' };
    await fetch(`${server.url}/v1/stats`, { headers });
    await assert.rejects(server.client.call('submitJob', { body: JOB }));
    await assert.rejects(server.client.call('registerWorker', { body: {} }));
    const words = lines().map(({ msg }) => msg);
    assert.ok(words.some((msg) => msg.startsWith('the store cannot commit')));
    assert.deepEqual(
      words.filter((msg) => /submitJob|registered|runs version/.test(msg)),
      [],
    );
    disk.isFull = false;
    await until('it commits again', () => lines().some(({ msg }) => msg === 'the store commits again'));
  });

  it('includes a slow commit, and an auth file that was read again or could not be', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    const write = (text: string) => writeFile(authFile, text, { mode: 0o600 });
    await write(JSON.stringify([{ name: 'ann', roles: ['admin'], token: 'token-of-ann' }]));
    let isSlow = false;
    const beforeCommit = async () => {
      if (isSlow) await sleep(1100);
    };
    const { server, lines } = await logged(t, { authFile, hooks: { beforeCommit } });
    isSlow = true;
    await server.clientWith('token-of-ann').call('submitJob', { body: JOB });
    const slow = lines().find(({ msg }) => msg.startsWith('a commit was slow'));
    assert.ok(slow && slow.level === 'warn' && Number(slow.seconds) >= 1 && Number(slow.rows) > 0);
    isSlow = false;
    await server.reload();
    await write('no list');
    await assert.rejects(server.reload());
    const reloads = lines().filter(({ audit }) => audit === 'reload');
    assert.deepEqual(
      reloads.map(({ level }) => level),
      ['info', 'error'],
    );
  });
});

describe('the log file', () => {
  /** A server process, since signals are of processes. */
  async function served(t: TestContext) {
    const folder = await temporaryDirectory(t);
    const file = join(folder, 'logs', 'server.log');
    const { child, said, outcome } = start('jq-server', [
      ...['--port', '0', '--state', join(folder, 'state'), '--json', '--log-file', file],
    ]);
    t.after(() => child.kill('SIGKILL'));
    await until('the server listens', () => said.stdout.includes('"listening"'));
    // Who is told so by its output may come before the line of the file.
    await until('the line of it', () => linesOf(file).some(({ msg }) => msg === 'listening'));
    return { child, file, outcome, said };
  }

  it('is opened again at SIGUSR2, when it was moved away, and gets all that comes then', async (t) => {
    const { child, file, outcome } = await served(t);
    await rename(file, `${file}.1`);
    child.kill('SIGUSR2');
    await until('its first line', () => existsSync(file) && linesOf(file).length > 0);
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
    const words = (path: string) => linesOf(path).map(({ msg }) => msg);
    assert.ok(words(`${file}.1`).includes('listening'));
    const expected = [
      'the log file was opened again',
      'stopping: what is accepted is committed and answered first',
      'stopped',
    ];
    // A busy machine may have been slow at something meanwhile, which is a line, too.
    const all = words(file);
    assert.deepEqual(
      all.filter((word) => expected.includes(word as string)),
      expected,
      all.join('\n'),
    );
  });

  it('may be copied and truncated while it is written', async (t) => {
    const { child, file, outcome } = await served(t);
    await truncate(file);
    child.kill('SIGTERM');
    await outcome;
    // Without holes: each line is behind the end that the file has.
    assert.deepEqual(
      linesOf(file).map(({ level }) => level),
      ['info', 'info'],
    );
  });

  it('is still written as before where it cannot be opened again', async (t) => {
    const { child, file, said } = await served(t);
    const folder = join(file, '..');
    await rename(folder, `${folder}.away`);
    await writeFile(folder, 'no folder');
    child.kill('SIGUSR2');
    const moved = join(`${folder}.away`, 'server.log');
    await until('it says so', () =>
      linesOf(moved).some(({ level, msg }) => level === 'error' && /again/.test(msg)),
    );
    assert.equal(child.exitCode, null);
    assert.doesNotMatch(said.stderr, /Error/);
  });
});
