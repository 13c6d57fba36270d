import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { serveUntilSignal } from '../../bin/cli/serve.ts';
import { Output } from '../../bin/terminal/output.ts';
import { deferred } from '../support/deferred.ts';
import { listenFor } from '../support/listen.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { begin, run, start } from './cli-support.ts';
import { isOneSentence } from './serving.ts';

/** A server process on a free port, and the line with its address. */
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

  it('accepts a credential from JQ_TOKEN, but not beside principals', async (t) => {
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

  it('survives the reader of its messages', async (t) => {
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
    const { port } = await listenFor(t, createServer());
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
    ['when a principal has the wrong form', ['--principal', 'ann'], /--principal.*NAME:TOKEN:ROLE/],
    ['when a role is unknown', ['--principal', 'ann:x:king'], /king/],
    ['when a token is empty', ['--principal', 'ann::viewer'], /ann/],
    [
      'when two principals have one token',
      ['--principal', 'a:x:viewer', '--principal', 'b:x:viewer'],
      /'?a'?.*'?b'?/,
    ],
    ['when there is no auth file', ['--auth-file', '/nowhere/auth.yaml'], /\/nowhere\/auth\.yaml/],
    ['when an origin is not valid', ['--cors-origin', 'lab'], /lab/],
    ['when the log file cannot be written', ['--log-file', '/dev/null/log'], /\/dev\/null/],
  ] as const) {
    it(title, async (t) => {
      const outcome = await serverIn(await temporaryDirectory(t), ...argv);
      isOneSentence(outcome, says);
      assert.doesNotMatch(outcome.stderr, /:x:|'x'/, 'tokens are never shown');
    });
  }
});

describe('a program that serves', () => {
  it('stops in order at the first signal and hurries at the second', async () => {
    const { stdout, stderr, env } = process;
    const output = new Output({ stdin: process.stdin, stdout, stderr, env, colorDepth: 1 }, false);
    output.note = () => {};
    const calls: string[] = [];
    const ended = deferred();
    const served = serveUntilSignal(
      {
        stop: () => {
          calls.push('stop');
          return ended.promise;
        },
        cancelRunning: () => {
          calls.push('cancel');
          ended.resolve();
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

describe('a program that dies of an uncaught error', () => {
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
