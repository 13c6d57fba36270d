import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import type { ProgramName } from '../../bin/program.ts';
import { run, start } from '../cli/cli-support.ts';
import { ask, bearer } from '../gateway/support.ts';
import { Target } from '../hostile/target.ts';
import { clientOf } from '../support/client.ts';
import { entriesBelow, textOf } from '../support/files.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** Unlike anything else, so that a search finds them wherever they went. */
const TOKENS = {
  admin: 'admin-secret-Zq7Xw1',
  worker: 'worker-secret-Kp3Vn8',
  sender: 'sender-secret-Ty5Lm2',
  wrong: 'wrong-secret-Hd9Rb4',
};

/** An analysis that shows all it knows: its environment, as its log, its model and its workspace. */
const RUNNER = `#!/bin/sh
env; env > "$6/best_model.txt"; env > "$4/environment.txt"
tr '\\0' ' ' < /proc/$PPID/cmdline
echo ready > "$0.ready"
while [ ! -e "$0.go" ]; do sleep 0.05; done
echo '{"status":"succeeded"}' > "$8"
`;

const assertNoToken = (where: string, content: string, tokens: string[] = Object.values(TOKENS)): void => {
  for (const token of tokens) assert.ok(!content.includes(token), `${token} stands in ${where}`);
};

/** The command lines of all processes, one a line. */
async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.map((line) => line.replaceAll('\0', ' '));
}

/** Every file below a directory, its bytes as latin1. */
async function filesBelow(directory: string): Promise<Map<string, string>> {
  const entries = await entriesBelow(directory);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (f) => [f, await textOf(f)] as const)));
}

/** What the inspection and the event stream say, as text. */
function listen(t: TestContext, target: Target, path: string): { heard: string } {
  const said = { heard: '' };
  const url = `${target.url.replace('http', 'ws')}${path}?token=${TOKENS.admin}`;
  const socket = new WebSocket(url);
  t.after(() => socket.terminate());
  socket.on('message', (frame) => {
    said.heard += String(frame);
  });
  return said;
}

async function guarded(t: TestContext) {
  const folder = await temporaryDirectory(t);
  const authFile = join(folder, 'auth.json');
  const entry = (name: keyof typeof TOKENS, role: string) => ({ name, roles: [role], token: TOKENS[name] });
  const entries = [entry('admin', 'admin'), entry('worker', 'executor'), entry('sender', 'submitter')];
  await writeFile(authFile, JSON.stringify(entries));
  const target = await Target.start(t, ['--auth-file', authFile, '--log-level', 'trace']);
  const clientAs = (name: keyof typeof TOKENS) => clientOf(t, target.url, { token: TOKENS[name] });
  return { folder, authFile, target, clientAs };
}

describe('a token', () => {
  it('appears nowhere but where it was given: no log, event, answer, artifact, process list or file', async (t) => {
    const { folder, target, clientAs } = await guarded(t);
    const runner = join(folder, 'run.sh');
    await writeFile(runner, RUNNER, { mode: 0o755 });
    const streams = ['/v1/events/stream', '/v1/inspect'].map((path) => listen(t, target, path));
    const workerState = join(folder, 'worker');
    const flags = ['--server', target.url, '--state', workerState, '--runner', `demo@1.0=sh ${runner}`];
    const worker = start('jq-worker', [...flags, '--log-level', 'trace'], { JQ_TOKEN: TOKENS.worker });
    t.after(() => worker.child.kill('SIGKILL'));

    const job = {
      type: 'demo.run',
      pipeline: { kind: 'inline_json', inline: {} },
      dataset: { kind: 'shared_path', path: folder },
      outputs: { keep_task_workspace: true },
    };
    const file = join(folder, 'job.json');
    await writeFile(file, JSON.stringify(job));
    const jqctl = ['submit', file, '--wait', '--json', '--server', target.url];
    const sender = start('jqctl', jqctl, { JQ_TOKEN: TOKENS.sender, JQ_DEBUG: '1' });
    t.after(() => sender.child.kill('SIGKILL'));
    await until('the analysis runs', async () => (await readdir(folder)).includes('run.sh.ready'));
    for (const line of await commandLines()) assertNoToken('the process list', line);
    await writeFile(`${runner}.go`, '');
    const { code, stdout, stderr } = await sender.outcome;
    assert.equal(code, 0, stderr);
    assertNoToken('what jqctl says', stdout + stderr);

    const admin = clientAs('admin');
    const [view] = await admin.call('listJobs');
    const params = { id: view?.id as string };
    const artifacts = await admin.call('listJobArtifacts', { params });
    const names = artifacts.map(({ filename }) => filename);
    assert.ok(
      names.includes('best_model.txt') && artifacts.some(({ role }) => role === 'workspace'),
      `${names}`,
    );
    for (const artifact of artifacts) {
      const { body } = await admin.download(artifact.id);
      assertNoToken(`the artifact ${artifact.filename}`, await text(body));
    }
    for (const name of ['listEvents', 'listWorkers', 'getStats', 'getMe', 'listMachines'] as const) {
      assertNoToken(name, await admin.callText(name));
    }
    for (const name of ['getJob', 'getJobRequest', 'listJobTasks', 'listJobEvents'] as const) {
      assertNoToken(name, await admin.callText(name, { params }));
    }
    await until('the streams say how it ended', () =>
      streams.every(({ heard }) => heard.includes('succeeded')),
    );
    for (const { heard } of streams) assertNoToken('a stream', heard);
    assertNoToken('the log of the worker', worker.said.stdout + worker.said.stderr);
    assert.match(worker.said.stderr, /"level":"(trace|debug|info)"/, 'the log tells the details');
    assertNoToken('the log of the server', await target.said());
    const files = [...(await filesBelow(target.state)), ...(await filesBelow(workerState))];
    assert.ok(
      files.some(([path]) => path.endsWith('store.sqlite')),
      'the store is among them',
    );
    for (const [path, content] of files) assertNoToken(path, content);
  });

  it('is not repeated by a refusal, in whatever way it was sent', async (t) => {
    const { target } = await guarded(t);
    const wrong = TOKENS.wrong;
    const asks = [
      { line: 'GET /v1/me', headers: bearer(wrong) },
      { line: 'GET /v1/me', headers: { Authorization: `Basic ${wrong}` } },
      { line: 'GET /v1/me', headers: { ...bearer(wrong), 'X-CLUSTER-Api': '9' } },
      { line: `GET /v1/events/stream?token=${wrong}` },
      { line: `GET /v1/events/stream?token=${wrong}%zz` },
      { line: `GET /v1/events/stream?token=${TOKENS.admin}&after_id=${'x'}` },
      { line: `GET /v1/jobs?token=${TOKENS.admin}&limit=x`, headers: bearer(TOKENS.admin) },
      { line: `GET /nowhere?token=${TOKENS.admin}`, headers: bearer(TOKENS.admin) },
      { line: `PUT /v1/jobs?token=${TOKENS.admin}`, headers: bearer(TOKENS.admin) },
      { line: 'POST /v1/jobs', headers: bearer(TOKENS.worker), body: '{}' },
      { line: 'POST /v1/jobs', headers: bearer(TOKENS.admin), body: '{"type":' },
    ];
    for (const request of asks) {
      const answer = await ask(target.port, request);
      assert.ok(answer.status >= 400, request.line);
      assertNoToken(`the answer to ${request.line}`, answer.body + [...answer.headers].join());
    }
    assertNoToken('the log of the server', await target.said());
  });

  it('is not shown by a program that is refused, nor by one whose file or flag is wrong', async (t) => {
    const { target, folder, authFile } = await guarded(t);
    process.env.JQ_DEBUG = '1';
    t.after(() => {
      delete process.env.JQ_DEBUG;
    });
    const { wrong } = TOKENS;
    const at = ['--server', target.url];
    const runs: [ProgramName, string[], Record<string, string>, number[]][] = [
      ['jqctl', ['jobs', ...at, '--token', wrong], {}, [3]],
      ['jqctl', ['events', '--follow', ...at], { JQ_TOKEN: wrong }, [3]],
      ['jqctl', ['jobs', ...at], { JQ_TOKEN: `${wrong} x` }, [2]],
      ['jq-worker', [...at, '--state', join(folder, 'w')], { JQ_TOKEN: wrong }, [3]],
      ['jq-server', ['--port', '0', '--principal', `a:${wrong}:king`], {}, [1, 2]],
      ['jq-server', ['--port', '0', '--principal', wrong], {}, [1, 2]],
      ['jq-server', ['--port', '0', '--principal', `a:${wrong}:viewer`, '--token', wrong], {}, [1, 2]],
    ];
    for (const [program, argv, env, codes] of runs) {
      const { code, stdout, stderr } = await run(argv, { program, env });
      const what = `${program} ${argv.join(' ')}`;
      assert.ok(codes.includes(code), `${what}: ${code} ${stderr}`);
      assert.ok(stderr !== '', `${what} says why`);
      assertNoToken(what, stdout + stderr);
    }
    await writeFile(authFile, `[{name: x, roles: [admin], token: ${TOKENS.wrong}`);
    target.hangUp();
    await until('the server has tried to read its file', async () => /SIGHUP/.test(await target.said()));
    assertNoToken('what the server says of its file', await target.said());
  });

  it('is better given by JQ_TOKEN, as every program says that accepts one', async () => {
    for (const [program, argv] of [
      ['jqctl', ['jobs', '--help']],
      ['jq-server', ['--help']],
      ['jq-worker', ['--help']],
    ] as const) {
      const { stdout } = await run([...argv], { program });
      assert.match(stdout, /--token TOKEN[\s\S]{0,80}better\s+in\s+JQ_TOKEN/, program);
    }
  });
});
