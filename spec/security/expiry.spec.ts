import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import WebSocket from 'ws';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { timeOf } from '../../gateway/auth/times.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { run, start } from '../cli/cli-support.ts';
import { ask, bearer, gatewayFor } from '../gateway/support.ts';
import { Program, ROOT } from '../support/program.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { TRANSPORT } from '../support/transport.ts';
import { until } from '../support/until.ts';

const soon = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

describe('a token that expires', () => {
  it('lets nobody in from that moment on, and its holder is told why', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    const entry = { name: 'temp', roles: ['viewer'], token: 'temp', expires_at: '2030-01-01T00:00:00Z' };
    await writeFile(authFile, JSON.stringify([entry]));
    let now = Date.parse('2029-12-31T23:59:59Z') / 1000;
    const auth = Credentials.from({ authFile }, () => now);
    await using gateway = await gatewayFor({ auth });
    const get = () => ask(gateway.port, { line: 'GET /v1/me', headers: bearer('temp') });
    assert.equal((await get()).status, 200);
    now += 1;
    const refused = await get();
    assert.equal(refused.status, 401);
    assert.match(refused.body, /the credential has expired/);
    const unknown = await ask(gateway.port, { line: 'GET /v1/me', headers: bearer('other') });
    assert.match(unknown.body, /unknown to this server/);
    assert.equal(auth.open, false, 'a server whose tokens have all expired is open to nobody');
  });

  it('has its streams closed with 1008 at that moment, without a word from anybody', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    const kept = { name: 'kept', roles: ['admin'], token: 'kept' };
    const temp = { name: 'temp', roles: ['viewer'], token: 'temp', expires_at: soon(3600) };
    await writeFile(authFile, JSON.stringify([kept, temp]));
    const server = await startTestServer(t, { authFile });
    const streams = ['temp', 'kept'].map((token) => {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events/stream`, {
        headers: bearer(token),
      });
      t.after(() => socket.terminate());
      const seen: { open: boolean; closed?: [number, string] } = { open: false };
      socket.on('open', () => {
        seen.open = true;
      });
      socket.on('close', (code, reason) => {
        seen.closed = [code, String(reason)];
      });
      return seen;
    });
    await until('both streams', () => streams.every(({ open }) => open));
    // Not before the streams are there, however long they took to come.
    temp.expires_at = soon(1);
    await writeFile(authFile, JSON.stringify([kept, temp]));
    await server.reload();
    const end = await until('the end of one', () => streams[0]?.closed);
    assert.deepEqual(end, [1008, 'the credential has expired']);
    assert.ok(Date.now() >= Date.parse(temp.expires_at) - 50, 'not before its time');
    assert.equal(streams[1]?.closed, undefined);
  });

  it('needs a time that means the same everywhere', () => {
    assert.equal(timeOf('2027-01-31'), Date.UTC(2027, 0, 31) / 1000);
    assert.equal(timeOf('2027-01-31T18:00:00+02:00'), Date.UTC(2027, 0, 31, 16) / 1000);
    assert.equal(timeOf('2027-01-31 18:00Z'), Date.UTC(2027, 0, 31, 18) / 1000);
    for (const text of [
      '2027-01-31T18:00:00',
      '2027-02-30',
      '31.1.2027',
      '2027',
      '1795938809',
      'tomorrow',
      '',
    ]) {
      assert.equal(timeOf(text), undefined, text);
    }
  });

  it('is refused at the start with a time that is none, or a field that is misspelt: it would never end', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    const refusal = async (more: object) => {
      await writeFile(authFile, JSON.stringify([{ name: 'al', roles: ['viewer'], token: 'hush', ...more }]));
      try {
        Credentials.from({ authFile });
        return 'taken';
      } catch (fault) {
        assert.ok(fault instanceof StartError && !fault.message.includes('hush'));
        return fault.message;
      }
    };
    assert.match(
      await refusal({ expires_at: '31.1.2027' }),
      /entry 1 \(al\): expires_at '31.1.2027' is no time/,
    );
    assert.match(await refusal({ expires_at: 1795938809 }), /expires_at must be string/);
    assert.match(
      await refusal({ expire_at: '2027-01-31' }),
      /unknown field 'expire_at', did you mean 'expires_at'/,
    );
    assert.equal(await refusal({ desk: 3 }), 'taken', 'what is like no field is a note of theirs');
  });
});

describe('the last use of a token', () => {
  it('is known after the server has stopped, and after the next one has begun', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    const authFile = join(state, '../auth.yaml');
    const added = await run(['tokens', 'add', 'ann', '--role', 'viewer', '--auth-file', authFile]);
    await run(['tokens', 'add', 'bo', '--role', 'viewer', '--auth-file', authFile]);
    const began = Date.now() / 1000 - 1;
    const first = await startTestServer(t, { state, authFile });
    await first.clientWith(added.stdout.trim()).call('getMe');
    await first.stop();
    const second = await startTestServer(t, { state, authFile });
    await second.stop();
    const listed = await run(['tokens', 'list', '--json', '--auth-file', authFile, '--state', state]);
    const rows = JSON.parse(listed.stdout) as { name: string; last_used_at: number | null }[];
    assert.deepEqual(
      rows.map(({ name, last_used_at }) => [name, (last_used_at ?? 0) > began]),
      [
        ['ann', true],
        ['bo', false],
      ],
    );
    const kept = readFileSync(join(state, 'token-uses.json'), 'utf8');
    assert.ok(!kept.includes(added.stdout.trim()));
  });
});

describe('a token in a file', () => {
  /** A server as a process, told of its credential in one way. */
  async function serverWith(t: import('node:test').TestContext, argv: string[], env = {}) {
    const state = join(await temporaryDirectory(t), 'state');
    const flags = [
      '--port',
      '0',
      '--transport',
      TRANSPORT,
      '--state',
      state,
      '--log-level',
      'silent',
      '--json',
    ];
    const server = new Program(process.execPath, [`${ROOT}bin/jq-server`, ...flags, ...argv], env);
    t.after(() => server.kill());
    return { server, url: (await server.announced('listening')).url as string };
  }

  it('is the credential of server, worker and jqctl, and stands on no command line', async (t) => {
    const folder = await temporaryDirectory(t);
    const file = join(folder, 'token');
    await writeFile(file, 'from-a-file\n', { mode: 0o600 });
    const { server, url } = await serverWith(t, ['--token-file', file]);
    const stats = (...argv: string[]) => run(['stats', '--server', url, ...argv]);
    assert.equal((await stats()).code, 3);
    const good = await stats('--token-file', file);
    assert.deepEqual([good.code, good.stderr], [0, '']);
    const flags = ['--server', url, '--state', join(folder, 'worker'), '--json', '--log-level', 'silent'];
    const worker = start('jq-worker', [...flags, '--token-file', file]);
    t.after(() => worker.child.kill('SIGKILL'));
    await until('the worker to be registered', () => worker.said.stdout.includes('"worker_id":"'));

    await writeFile(file, 'another-one\n');
    server.child.kill('SIGHUP');
    await until('the new token to count', async () => (await stats('--token', 'another-one')).code === 0);
    assert.equal((await stats('--token', 'from-a-file')).code, 3, 'the old one counts no more');
  });

  it('may be what systemd lays out for a unit, as jq-token in $CREDENTIALS_DIRECTORY', async (t) => {
    const folder = join(await temporaryDirectory(t), 'credentials');
    await mkdir(folder);
    await writeFile(join(folder, 'jq-token'), 'of-the-unit', { mode: 0o600 });
    const env = { CREDENTIALS_DIRECTORY: folder };
    const { url } = await serverWith(t, [], env);
    const stats = (given: Record<string, string>) => run(['stats', '--server', url], { env: given });
    assert.equal((await stats({})).code, 3);
    assert.equal((await stats(env)).code, 0);
    assert.equal(
      (await stats({ ...env, JQ_TOKEN: 'of-the-environment' })).code,
      3,
      'JQ_TOKEN comes before it',
    );
    const empty = { CREDENTIALS_DIRECTORY: join(folder, 'none') };
    assert.equal((await stats({ ...empty, JQ_TOKEN: 'of-the-unit' })).code, 0);
  });

  it('is refused where there is none, or more than a token, without a word of what is in it', async (t) => {
    const folder = await temporaryDirectory(t);
    const file = (name: string, text: string) => {
      const path = join(folder, name);
      return writeFile(path, text).then(() => path);
    };
    const cases: [path: string, says: RegExp][] = [
      [join(folder, 'none'), /cannot read the token file .*none \(ENOENT\)/],
      [folder, /cannot read the token file .* \(EISDIR\)/],
      [await file('empty', ' \n'), /empty is empty: it must hold the token alone/],
      [await file('two', 'hush-1\nhush-2\n'), /two holds more than one word/],
      [await file('umlaut', 'hüsh-1'), /what no header can carry/],
    ];
    for (const [path, says] of cases) {
      for (const argv of [
        ['stats'],
        ['worker', '--state', join(folder, 'w')],
        ['server', '--state', join(folder, 's')],
      ]) {
        const { code, stderr } = await run([...argv, '--token-file', path]);
        assert.equal(code, 2, stderr);
        assert.match(stderr, says);
        assert.doesNotMatch(stderr, /hush|hüsh/);
      }
    }
    const both = await run(['stats', '--token', 'a', '--token-file', await file('good', 'a')]);
    assert.match(both.stderr, /--token and --token-file: give one of them/);
  });
});
