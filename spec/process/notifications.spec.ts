import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { signed } from '../../actors/server/notify/sign.ts';
import { run } from '../cli/cli-support.ts';
import { clientOf } from '../support/client.ts';
import { JOB } from '../support/job.ts';
import { listenFor } from '../support/listen.ts';
import { Program, ROOT } from '../support/program.ts';
import { assertSigned, KEY, SECRET, startReceiver } from '../support/receiver.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { made, places, restored } from './backup-support.ts';

/** A file that holds a secret, for its user alone. */
async function fileWith(t: TestContext, text: string): Promise<string> {
  const file = join(await temporaryDirectory(t), 'secret');
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
}

/** A server process that tells an address of the ends of jobs. */
async function serve(t: TestContext, state: string, url: string, env?: Record<string, string>) {
  const flags = env ? [] : ['--notify-secret-file', await fileWith(t, SECRET)];
  const server = new Program(
    process.execPath,
    [
      ...[`${ROOT}bin/jq-server`, '--port', '0', '--state', state, '--transport', 'node', '--json'],
      ...['--notify', url, ...flags],
    ],
    env,
  );
  t.after(() => server.kill());
  const announced = await server.announced('listening');
  const client = clientOf(t, announced.url as string);
  const endJob = async (name: string) => {
    const { id } = await client.call('submitJob', { body: { ...JOB, name } });
    await client.call('cancelJob', { params: { id } });
    return id;
  };
  const pending = async () => Number(/^jq_notifications_pending (.*)$/m.exec(await client.metrics())?.[1]);
  return { server, client, endJob, pending };
}

describe('a server that notifies', () => {
  it('tells of an end also where SIGKILL came between the end and the answer of the receiver', async (t) => {
    const { state } = await places(t);
    const receiver = await startReceiver(t);
    receiver.hangs();
    const first = await serve(t, state, receiver.url);
    const job = await first.endJob('in the air');
    await until('the first try', () => receiver.received.length === 1);
    await first.server.kill();

    receiver.answers(204);
    const second = await serve(t, state, receiver.url);
    await until('the second', () => receiver.received.length === 2);
    const [one, other] = receiver.received;
    assert.deepEqual([one?.id, one?.text], [other?.id, other?.text], 'by which the receiver knows it again');
    assert.equal(other?.body.data.job.id, job);
    for (const request of receiver.received) assertSigned(request);
    await until('it to be settled', async () => (await second.pending()) === 0);
    await second.server.terminate();
    const third = await serve(t, state, receiver.url);
    await third.endJob('later');
    await until('that of another job', () => receiver.received.length === 3);
    assert.equal(receiver.received[2]?.body.data.job.name, 'later');
  });

  it('leaves to the next one what nobody has answered when it stops, and stops all the same', async (t) => {
    const { state } = await places(t);
    const receiver = await startReceiver(t);
    receiver.hangs();
    const first = await serve(t, state, receiver.url);
    await first.endJob('one');
    await until('the first try', () => receiver.received.length === 1);
    assert.equal((await first.server.terminate()).code, 0);
    receiver.answers(204);
    await serve(t, state, receiver.url);
    await until('the second', () => receiver.received.length === 2);
  });

  it('does not tell of what had ended before the backup that it was restored from', async (t) => {
    const { state, to, restored: target } = await places(t);
    const receiver = await startReceiver(t);
    receiver.answers(503);
    const first = await serve(t, state, receiver.url);
    await first.endJob('old');
    await until('the first try', () => receiver.received.length === 1);
    await made(state, to);
    await first.server.kill();
    // It may have tried again meanwhile.
    const tried = receiver.received.length;
    await restored(to, target);

    receiver.answers(204);
    const second = await serve(t, target, receiver.url);
    assert.equal(await second.pending(), 0);
    await second.endJob('new');
    const told = () => receiver.received.slice(tried).map(({ body }) => body.data.job.name);
    await until('the other one', () => told().length > 0);
    assert.deepEqual(told(), ['new']);
  });

  it('takes its secret from what systemd has laid out, and never tells it', async (t) => {
    const { root, state } = await places(t);
    writeFileSync(join(root, 'jq-notify-secret'), SECRET);
    chmodSync(join(root, 'jq-notify-secret'), 0o444);
    const receiver = await startReceiver(t);
    receiver.answers(500);
    const { server, endJob } = await serve(t, state, receiver.url, { CREDENTIALS_DIRECTORY: root });
    await endJob('one');
    await until('a line', () => /a notification did not arrive/.test(server.stderr));
    assertSigned(receiver.received[0] as never);
    const said = server.stdout + server.stderr;
    assert.ok(!said.includes(SECRET) && !said.includes(SECRET.slice(6)));
    assert.match(said, /others can read the secret of notifications/);
  });

  it('does not start without a secret, or with one that cannot be used, and says so', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    const [short, words] = [await fileWith(t, 'whsec_c2hvcnQ='), await fileWith(t, 'two words')];
    const cases: [flags: string[], says: RegExp][] = [
      [['--notify', 'http://127.0.0.1:1/'], /needs a secret to sign with/],
      [['--notify', 'ftp://127.0.0.1/'], /no address that begins with http/],
      [['--notify', 'http://ann:pw@127.0.0.1/'], /must not hold a name or a password/],
      [['--notify-secret-file', short], /is of no use without --notify/],
      [
        ['--notify', 'http://127.0.0.1:1/', '--notify-secret-file', short],
        /must hold whsec_ and 24 to 64 bytes/,
      ],
      [['--notify', 'http://127.0.0.1:1/', '--notify-secret-file', words], /it must hold the secret alone/],
    ];
    for (const [flags, says] of cases) {
      const outcome = await run(['--state', state, '--port', '0', ...flags], { program: 'jq-server' });
      assert.equal(outcome.code, 2, flags.join(' '));
      assert.match(outcome.stderr, says);
      assert.ok(!outcome.stderr.includes('two words'));
    }
  });
});

/** A mail server for one mail after the other; it keeps what it is given. */
async function mailServer(t: TestContext) {
  const mails: string[] = [];
  const server = createServer((socket) => {
    let [text, isData] = ['', false];
    socket.write('220 here\r\n');
    socket.on('data', (chunk) => {
      text += chunk;
      for (let end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n'); end >= 0; ) {
        const said = text.slice(0, end);
        text = text.slice(end + (isData ? 5 : 2));
        if (isData) mails.push(said);
        isData = said.toUpperCase() === 'DATA' && !isData;
        socket.write(isData ? '354 go on\r\n' : said.toUpperCase() === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
        end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n');
      }
    });
    socket.on('error', () => {});
  });
  return { mails, at: `127.0.0.1:${(await listenFor(t, server)).port}` };
}

describe('the receiver of the examples', () => {
  it('passes on by e-mail and to a chat what is genuine, once, and what it could not pass on when it comes again', {
    ...requires('python3'),
  }, async (t) => {
    const { state, root } = await places(t);
    const chat = await startReceiver(t);
    const { mails, at } = await mailServer(t);
    writeFileSync(join(root, 'chat-url'), `${chat.url}\n`);
    chat.answers(500);
    const receiver = new Program('python3', [
      ...[
        `${ROOT}examples/operations/notify/receiver.py`,
        '--port',
        '0',
        '--secret-file',
        await fileWith(t, SECRET),
      ],
      ...['--smtp', at, '--mail-from', 'jq@lab.example', '--mail-to', '{owner}@lab.example'],
      ...['--chat-url-file', join(root, 'chat-url')],
    ]);
    t.after(() => receiver.kill());
    const url = await until('its address', () => /http:\S+/.exec(receiver.stdout)?.[0]);
    const { endJob, pending } = await serve(t, state, url);
    await endJob('corn');
    await until('the first try', () => chat.received.length === 1);
    chat.answers(200);
    await until('it to have arrived', async () => (await pending()) === 0);
    assert.match(
      chat.received[1]?.text ?? '',
      /^\{"text": "job corn \(job_\w+\) was cancelled \(anonymous\)"\}$/,
    );
    assert.match(mails[0] ?? '', /Subject: corn: cancelled\r\n.*To: anonymous@lab.example/s);

    const body = '{"type":"job_failed"}';
    const now = Math.floor(Date.now() / 1000);
    const ask = (headers: Record<string, string>) => fetch(url, { method: 'POST', headers, body });
    const good = signed({ id: 'x', timestamp: now, body }, KEY);
    const forged = [
      {},
      { ...good, 'webhook-id': 'y' },
      signed({ id: 'x', timestamp: now - 600, body }, KEY),
      signed({ id: 'x', timestamp: now, body }, Buffer.alloc(32)),
    ];
    for (const headers of forged) assert.equal((await ask(headers)).status, 401);
  });
});
