import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { until } from '../support/until.ts';
import { run } from './cli-support.ts';

/** What answers in the place of a server, as a proxy or the page of a hotel does. Gives its address, and who is connected. */
async function answering(t: TestContext, answer: (socket: Socket) => unknown) {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open };
}

const whole = (body: string, head = '200 OK') =>
  `HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;

const COMMANDS = [
  ...[['jobs'], ['events'], ['events', '--after-id', '3'], ['workers'], ['stats']],
  ...[
    ['status', 'job_1'],
    ['artifacts', 'job_1'],
    ['logs', 'job_1'],
  ],
];

describe('a command that is answered by something else than a server', () => {
  const answers: Record<string, string> = {
    'with a page': whole('<html>log in first</html>'),
    'with nothing': 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n',
    'with null': whole('null'),
    'with a text': whole('"[1]"'),
    'with the way to somewhere else': whole('', '302 Found\r\nLocation: /login'),
  };
  for (const [how, answer] of Object.entries(answers)) {
    it(`${how} says so, and never that there is nothing`, async (t) => {
      const { url } = await answering(t, (socket) => socket.end(answer));
      for (const argv of COMMANDS) {
        const { code, stdout, stderr } = await run([...argv, '--server', url]);
        const told = `${argv.join(' ')}: ${code} ${stdout}${stderr}`;
        assert.equal(code, 4, told);
        assert.match(stderr, /this server cannot be understood: /, told);
        assert.equal(stdout, '', told);
      }
    });
  }
});

describe('an answer without end', () => {
  const MIB = 1024 * 1024;
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
  for (const status of ['200 OK', '500 Oh']) {
    it(`is given up once it is longer than any of a server, and its connection is closed: ${status}`, async (t) => {
      const { url, open } = await answering(t, (socket) => {
        socket.write(`HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\n\r\n`);
        const go = () => {
          while (!socket.destroyed && socket.write(chunk));
        };
        socket.on('drain', go);
        go();
      });
      const client = new ClusterClient({ server: url, longestAnswer: MIB });
      t.after(() => client.close());
      await assert.rejects(client.call('listJobs'), {
        code: 'invalid_response',
        message: 'the answer has more than 1 MiB',
      });
      await until('the end of the connection', () => open.size === 0);
    });
  }

  it('is read whole where it is no longer than that, however it is sent', async (t) => {
    const list = `[${'1,'.repeat(200_000)}1]`;
    const { url } = await answering(t, (socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${list.length.toString(16)}\r\n${list}\r\n0\r\n\r\n`,
      ),
    );
    const client = new ClusterClient({ server: url, longestAnswer: MIB });
    t.after(() => client.close());
    assert.equal((await client.callText('listJobs')).length, list.length);
  });
});
