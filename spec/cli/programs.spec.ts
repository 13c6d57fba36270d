import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { serveUntilSignal } from '../../bin/cli/serve.ts';
import { Output } from '../../bin/terminal/output.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { begin, type Outcome, run, start } from './cli-support.ts';
import { jobOf } from './played-worker.ts';

/** A server process on a free port, and the line that says where. */
async function serve(t: TestContext, argv: string[] = [], env: Record<string, string> = {}) {
  const state = join(await temporaryDirectory(t), 'state');
  const program = start('jq-server', ['--port', '0', '--state', state, '--json', ...argv], env);
  t.after(async () => {
    program.child.kill('SIGKILL');
    await program.outcome;
  });
  const line = await until('the first line', () => /^(.*)\n/.exec(program.said.stdout)?.[1]);
  const { event, url } = JSON.parse(line);
  assert.equal(event, 'listening');
  return { ...program, url: url as string, state };
}

/** Whether a token is good for reading. */
async function works(url: string, token: string): Promise<boolean> {
  const answer = await fetch(`${url}/v1/stats`, { headers: { authorization: `Bearer ${token}` } });
  return answer.status === 200;
}

/** The same in this process; all servers of the test stop when it ends. */
async function serveHere(t: TestContext, argv: string[], env: Record<string, string> = {}) {
  const state = join(await temporaryDirectory(t), 'state');
  const quiet = ['--log-level', 'silent', '--json'];
  const { said, outcome } = begin(['server', '--port', '0', '--state', state, ...quiet, ...argv], { env });
  t.after(() => {
    // The signal reaches all servers of the process; a second one would end it at once.
    if (!said.stdout.includes('stopping')) process.emit('SIGTERM', 'SIGTERM');
    return outcome;
  });
  const line = await until('the first line', () => /^(.*)\n/.exec(said.stdout)?.[1]);
  return { said, url: JSON.parse(line).url as string };
}

function isOneSentence({ code, stdout, stderr }: Outcome, says: RegExp): void {
  assert.equal(code, 2, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: [^\n]*\n$/, 'one line, no stack trace');
  assert.match(stderr, says);
}

describe('jq-server', () => {
  it('says where it listens, serves, and ends with 0 at SIGTERM', async (t) => {
    const { child, outcome, url } = await serve(t);
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    child.kill('SIGTERM');
    const { code, stdout } = await outcome;
    assert.equal(code, 0);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    assert.deepEqual(events, ['listening', 'stopping', 'stopped']);
  });

  it('takes a credential from JQ_TOKEN, but not beside principals', async (t) => {
    const lonely = await serveHere(t, [], { JQ_TOKEN: 'sesame' });
    const status = (url: string, token: string) =>
      fetch(`${url}/v1/stats`, { headers: { authorization: `Bearer ${token}` } }).then((r) => r.status);
    assert.equal(await status(lonely.url, 'wrong'), 401);
    assert.equal(await status(lonely.url, 'sesame'), 200);
    const shared = await serveHere(t, ['--principal', 'ann:s3cret:viewer'], { JQ_TOKEN: 'sesame' });
    assert.equal(await status(shared.url, 'sesame'), 401);
    assert.equal(await status(shared.url, 's3cret'), 200);
  });

  it('reads the auth file again at SIGHUP, and goes on with the old one when the new one is broken', async (t) => {
    const file = join(await temporaryDirectory(t), 'auth.yaml');
    await writeFile(file, '- {name: ann, roles: [viewer], token: first}\n');
    const { child, url, said } = await serve(t, ['--auth-file', file]);
    assert.ok(await works(url, 'first'));
    await writeFile(file, '- {name: ann, roles: [viewer], token: second}\n');
    child.kill('SIGHUP');
    await until('the new token', () => works(url, 'second'));
    assert.ok(!(await works(url, 'first')));
    await writeFile(file, '- {name: ann, roles: [king], token: third}\n');
    child.kill('SIGHUP');
    await until('the complaint', () => /king/.test(said.stderr));
    assert.ok(await works(url, 'second'));
  });

  it('warns when it is open and reachable from the network', async (t) => {
    const { said } = await serveHere(t, ['--host', '0.0.0.0']);
    await until('the warning', () => /warning: no credential is set/.test(said.stderr));
    const careful = await serveHere(t, ['--host', '0.0.0.0'], { JQ_TOKEN: 'x' });
    assert.equal(careful.said.stderr, '');
  });

  it('outlives the reader of its messages', async (t) => {
    const file = join(await temporaryDirectory(t), 'auth.yaml');
    await writeFile(file, '- {name: ann, roles: [viewer], token: first}\n');
    const { child, outcome, url } = await serve(t, ['--auth-file', file]);
    child.stdout.destroy();
    child.stderr.destroy();
    await writeFile(file, 'broken: [');
    child.kill('SIGHUP');
    // By the time of these answers it has complained to nobody.
    for (let i = 0; i < 3; i++) assert.equal((await fetch(`${url}/healthz`)).status, 200);
    await writeFile(file, '- {name: ann, roles: [viewer], token: second}\n');
    await until('the new token', () => child.kill('SIGHUP') && works(url, 'second'));
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
  });
});

describe('a server that cannot start says why in one line and exits with 2', () => {
  const serverIn = (state: string, ...argv: string[]) =>
    run(['server', '--port', '0', '--state', state, '--log-level', 'silent', ...argv]);

  it('when another one has its state directory', async (t) => {
    const { stateDir } = await startTestServer(t);
    isOneSentence(await serverIn(stateDir), /in use by another process.*--state/);
  });

  it('when the port is taken', async (t) => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    t.after(() => taken.close());
    const { port } = taken.address() as { port: number };
    const state = await temporaryDirectory(t);
    isOneSentence(
      await serverIn(state, '--port', String(port)),
      new RegExp(`port ${port} is in use.*--port`),
    );
  });

  it('when its state directory cannot be written', async (t) => {
    const file = join(await temporaryDirectory(t), 'file');
    await writeFile(file, '');
    isOneSentence(await serverIn(join(file, 'state')), /cannot write to the state directory .*--state/);
  });

  it('when the store is of a newer program', async (t) => {
    const state = await temporaryDirectory(t);
    const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
    await db.exec('PRAGMA user_version = 9999');
    await db.close();
    isOneSentence(await serverIn(state), /newer/);
  });

  for (const [title, argv, says] of [
    ['when a principal is no principal', ['--principal', 'ann'], /--principal.*NAME:TOKEN:ROLE/],
    ['when a role is unknown', ['--principal', 'ann:x:king'], /king/],
    ['when a token is empty', ['--principal', 'ann::viewer'], /ann/],
    [
      'when two principals have one token',
      ['--principal', 'a:x:viewer', '--principal', 'b:x:viewer'],
      /'?a'?.*'?b'?/,
    ],
    ['when there is no auth file', ['--auth-file', '/nowhere/auth.yaml'], /\/nowhere\/auth\.yaml/],
    ['when an origin is none', ['--cors-origin', 'lab'], /lab/],
    ['when the log file cannot be written', ['--log-file', '/dev/null/log'], /\/dev\/null/],
  ] as const) {
    it(title, async (t) => {
      const outcome = await serverIn(await temporaryDirectory(t), ...argv);
      isOneSentence(outcome, says);
      assert.doesNotMatch(outcome.stderr, /:x:|'x'/, 'tokens are never shown');
    });
  }
});

describe('jq-worker', () => {
  it('registers with what the command line says, and ends with 0 at SIGTERM', async (t) => {
    const server = await startTestServer(t);
    const state = join(await temporaryDirectory(t), 'state');
    const flags = ['--slots', '3', '--name', 'bench', '--labels', 'site=lab-a,gpu=no', '--labels', 'x=1'];
    const declared = ['--memory-gb', '7.5', '--gpus', '2', '--dataset', `corn=${dirname(state)}`];
    const { child, outcome, said } = start('jq-worker', ['--state', state, '--json', ...flags, ...declared], {
      JQ_SERVER: server.url,
    });
    await until('the worker', () => said.stdout.includes('\n'));
    const { event, worker_id } = JSON.parse(said.stdout.split('\n')[0] ?? '');
    assert.equal(event, 'started');
    const [worker] = await server.client.call('listWorkers');
    assert.equal(worker?.id, worker_id);
    assert.equal(worker?.name, 'bench');
    assert.equal(worker?.slots_total, 3);
    assert.deepEqual(worker?.labels, { site: 'lab-a', gpu: 'no', x: '1', 'dataset.corn': 'true' });
    assert.equal(worker?.capabilities.memory_gb, 7.5);
    assert.equal(worker?.capabilities.gpu_count, 2);
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
  });

  it('refused by the server, exits with 3', async (t) => {
    const server = await startTestServer(t, { principals: ['ann:s3cret:submitter'] });
    const state = await temporaryDirectory(t);
    for (const token of ['wrong', 's3cret']) {
      const argv = ['worker', '--server', server.url, '--state', state, '--log-level', 'silent'];
      const { code, stdout, stderr } = await run([...argv, '--token', token]);
      assert.equal(code, 3);
      assert.equal(stdout, '');
      assert.match(stderr, /^error: .*\n.*--token or JQ_TOKEN\n$/);
    }
  });

  const unusable: [title: string, flags: string[], says: RegExp][] = [
    [
      'a runner whose program is not there',
      ['--runner', 'mean=/no/such/cmd x'],
      /'\/no\/such\/cmd' \(for mean\)/,
    ],
    [
      'a runner whose program is not on the path',
      ['--runner', 'mean=no-such-cmd'],
      /no program 'no-such-cmd'/,
    ],
    ['a runner whose program may not be executed', ['--runner', 'mean=./package.json'], /package\.json/],
    [
      'a dataset that is not there',
      ['--dataset', 'bad=/no/where'],
      /--dataset bad: there is no.*: \/no\/where/,
    ],
    ['a catalog that is not there', ['--catalog', '/no/such.yaml'], /--catalog: .*\/no\/such\.yaml/],
    ['a catalog that is no text of its kind', ['--catalog', 'LICENSE'], /--catalog: .*neither JSON nor YAML/],
    ['a catalog that is no list', ['--catalog', 'package.json'], /--catalog: the catalog is not a list/],
  ];
  for (const [title, flags, says] of unusable) {
    it(`refuses to start with ${title}: exit code 2`, async (t) => {
      const state = join(await temporaryDirectory(t), 'state');
      const server = ['--server', 'http://127.0.0.1:9'];
      isOneSentence(
        await run(['worker', '--state', state, ...server, '--log-level', 'silent', ...flags]),
        says,
      );
    });
  }

  it('warns of what may come to work by itself, and starts', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    const catalog = join(folder, 'sets.yaml');
    await writeFile(catalog, '- {id: corn, version: 1, path: corn.zip}');
    for (const [named, warning] of [
      ['http://127.0.0.1:9/sets.yaml', /cannot be reached at http:\/\/127\.0\.0\.1:9\/sets\.yaml/],
      [catalog, /entry of corn@1 has no sha256/],
    ] as const) {
      const argv = ['--state', join(folder, 'state'), '--server', server.url, '--catalog', named];
      const { child, outcome, said } = start('jq-worker', [
        ...argv,
        '--json',
        '--runner',
        'x=sh ./no/such.sh',
      ]);
      await until('the worker', () => said.stdout.includes('"started"'));
      child.kill('SIGTERM');
      const { code, stderr } = await outcome;
      assert.equal(code, 0);
      assert.match(stderr, warning);
      assert.match(stderr, /"word":"\.\/no\/such\.sh".*names no file/);
    }
  });

  it('leaves a task that has to stop the time of --cancel-grace to do so', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    const [script, begun, saved] = ['slow.sh', 'begun', 'saved'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    // Longer than the grace period that a task has otherwise.
    await writeFile(
      script,
      `trap 'sleep 6; touch ${saved}; exit' TERM\ntouch ${begun}\nwhile :; do sleep 0.05; done`,
    );
    const flags = ['--server', server.url, '--cancel-grace', '60', '--runner', `slow=sh ${script}`];
    const { child, outcome } = start('jq-worker', ['--state', join(folder, 'state'), ...flags]);
    const text = jobOf('p.yaml').replace('mljs', 'slow').replace('data/corn', folder);
    const { id } = await server.client.call('submitJob', {
      text: text.replace(/\{"kind":"path"[^}]*\}/, '{"kind":"inline_json","inline":[]}'),
    });
    await until('the task', () => existsSync(begun));
    await server.client.call('cancelJob', { params: { id } });
    await until('its own end', () => existsSync(saved));
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
  });

  it('without its state directory exits with 2', async (t) => {
    const folder = join(await temporaryDirectory(t), 'file');
    await mkdir(join(folder, '..'), { recursive: true });
    await writeFile(folder, '');
    const state = join(folder, 'state');
    isOneSentence(
      await run(['worker', '--state', state, '--log-level', 'silent']),
      /state directory.*--state/,
    );
  });

  it('waits for a server that is away, and registers once it is there', async (t) => {
    const early = await startTestServer(t);
    await early.stop();
    const state = join(await temporaryDirectory(t), 'state');
    const argv = ['--state', state, '--json', '--server', early.url, '--log-level', 'silent'];
    const { child, outcome, said } = start('jq-worker', argv);
    await until('the first try', () => /"started".*"worker_id":null/.test(said.stdout));
    const late = await startTestServer(t, { state: early.stateDir, port: early.port });
    await until('the worker', async () => (await late.client.call('listWorkers')).length === 1);
    await until('the word of it', () => /"registered","worker_id":"worker_/.test(said.stdout));
    child.kill('SIGINT');
    assert.equal((await outcome).code, 0);
  });
});

describe('a program that serves', () => {
  it('stops in order at the first signal and hurries at the second', async () => {
    const { stdout, stderr, env } = process;
    const output = new Output({ stdin: process.stdin, stdout, stderr, env, colorDepth: 1 }, false);
    output.note = () => {};
    const calls: string[] = [];
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const served = serveUntilSignal(
      {
        stop: () => {
          calls.push('stop');
          return ended;
        },
        cancelRunning: () => {
          calls.push('cancel');
          end();
        },
      },
      output,
      () => {},
    );
    process.emit('SIGTERM', 'SIGTERM');
    process.emit('SIGTERM', 'SIGTERM');
    assert.equal(await served, 0);
    assert.deepEqual(calls, ['stop', 'cancel']);
    assert.equal(process.listenerCount('SIGTERM'), 0);
  });
});

describe('a program that dies of a fault that nobody caught', () => {
  it('says so in its log before it ends', async (t) => {
    const folder = await temporaryDirectory(t);
    const logFile = join(folder, 'program.log');
    const script = join(folder, 'dies.mjs');
    const log = new URL('../../bin/programs/log.ts', import.meta.url).href;
    await writeFile(
      script,
      `const { openLog } = await import(${JSON.stringify(log)});
       await openLog('jq-worker', { logLevel: 'info', logFile: ${JSON.stringify(logFile)} });
       setImmediate(() => { throw new Error('a socket that nobody watches'); });`,
    );
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script], {
      stdio: 'ignore',
    });
    const [code] = await once(child, 'exit');
    assert.notEqual(code, 0);
    const lines = (await readFile(logFile, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const last = lines.at(-1);
    assert.equal(last.level, 'fatal');
    assert.equal(last.err.message, 'a socket that nobody watches');
    assert.match(last.msg, /internal fault/);
  });
});
