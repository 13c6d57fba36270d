import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { transportHere } from '../support/transport.ts';
import { until } from '../support/until.ts';
import { noise } from './noise.ts';
import { OpenScope } from './scope.ts';
import { Target } from './target.ts';

const HOST = 'Host: lab.example\r\n';
const AUTH = 'Authorization: Bearer tok\r\n';
const GET_ME = `GET /v1/me HTTP/1.1\r\n${HOST}${AUTH}\r\n`;

const get = (target: string, more = '') => `GET ${target} HTTP/1.1\r\n${HOST}${AUTH}${more}\r\n`;
const post = (more: string, body = '{}', first = HOST + AUTH) =>
  `POST /v1/workers/register HTTP/1.1\r\n${first}${more}\r\n${body}`;
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body);

/**
 * What comes back from uWebSockets.js: the statuses of the answers, in order; none: the connection is closed without a
 * word.
 */
const CASES: [string, string | Buffer, number[]][] = [
  // Where a request ends must be clear, or whoever stands in between reads another one.
  ['the same Content-Length twice', post('Content-Length: 2\r\nContent-Length: 2\r\n'), [200]],
  ['two Content-Lengths', post('Content-Length: 2\r\nContent-Length: 60\r\n', `{}${GET_ME}`), []],
  [
    'two Content-Lengths, the larger first',
    post(`Content-Length: 60\r\nContent-Length: 2\r\n`, `{}${GET_ME}`),
    [505],
  ],
  [
    'a Content-Length and chunks',
    post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    [400],
  ],
  [
    'chunks and a Content-Length',
    post('Transfer-Encoding: chunked\r\nContent-Length: 99\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    [400],
  ],
  [
    'chunks of something compressed',
    post('Transfer-Encoding: gzip, chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    [400],
  ],
  [
    'two encodings',
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    [400],
  ],
  ['an encoding of another name', post('Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n'), [400]],
  ['chunks', chunked('1\r\n{\r\n1\r\n}\r\n0\r\n\r\n'), [200]],
  ['a chunk size that is no number', chunked('zz\r\n{}\r\n0\r\n\r\n'), [400]],
  ['a negative chunk size', chunked('-2\r\n{}\r\n0\r\n\r\n'), [400]],
  ['a chunk size beyond all numbers', chunked('ffffffffffffffffff\r\n{}\r\n0\r\n\r\n'), [400]],
  ['a Content-Length that is negative', post('Content-Length: -2\r\n'), [400]],
  ['a Content-Length in hex', post('Content-Length: 0x2\r\n'), [400]],
  ['a Content-Length with a sign', post('Content-Length: +2\r\n'), [400]],
  ['a list of Content-Lengths', post('Content-Length: 2, 2\r\n'), [400]],
  ['a Content-Length beyond all numbers', post(`Content-Length: ${'9'.repeat(30)}\r\n`), [400]],
  ['two hosts', `GET /v1/me HTTP/1.1\r\n${HOST}Host: other.example\r\n${AUTH}\r\n`, [400]],
  ['no host', `GET /v1/me HTTP/1.1\r\n${AUTH}\r\n`, [400]],
  ['two credentials, the good one first', get('/v1/me', 'Authorization: Bearer other\r\n'), [400]],
  [
    'two credentials, the good one last',
    `GET /v1/me HTTP/1.1\r\n${HOST}Authorization: Bearer other\r\n${AUTH}\r\n`,
    [400],
  ],
  ['the same credential twice', get('/v1/me', AUTH), [200]],

  // The line of the request.
  ['a NUL in the path', get('/v1/m\0e'), [505]],
  ['a NUL in the path, escaped', get('/v1/jobs/%00'), [404]],
  ['a path that climbs', get('/v1/../v1/me'), [404]],
  ['a path that climbs, escaped', get('/v1/%2e%2e%2fv1/me'), [404]],
  ['a path with doubled slashes', get('//v1//me'), [404]],
  ['a path with a slash at its end', get('/v1/me/'), [200]],
  ['a path whose escapes cannot be read', get('/v1/jobs/%zz'), [404]],
  ['a path that is not UTF-8', Buffer.from(get('/v1/jobs/\xe9\xff'), 'latin1'), [404]],
  ['a path in which every letter is escaped', get('/%76%31/%6d%65'), [200]],
  ['an absolute target', get('http://evil.example/v1/me'), [505]],
  ['a target of OPTIONS alone', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, [505]],
  ['CONNECT', `CONNECT evil.example:80 HTTP/1.1\r\n${HOST}\r\n`, [505]],
  ['a method in lower case', `get /v1/me HTTP/1.1\r\n${HOST}${AUTH}\r\n`, [200]],
  ['a method of its own making', `BREW /v1/me HTTP/1.1\r\n${HOST}${AUTH}\r\n`, [405]],
  ['a method of 5,000 letters', `${'M'.repeat(5000)} /v1/me HTTP/1.1\r\n${HOST}${AUTH}\r\n`, [405]],
  ['HTTP/1.0', `GET /v1/me HTTP/1.0\r\n${HOST}${AUTH}\r\n`, [505]],
  ['HTTP/0.9', 'GET /v1/me\r\n', [505]],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [505]],
  ['HTTP/9.9', `GET /v1/me HTTP/9.9\r\n${HOST}${AUTH}\r\n`, [505]],
  ['TLS', Buffer.from('16030100c8010000c40303', 'hex'), [505]],
  ['noise', Buffer.from('\x00\x01\x02\xff\xfe noise\r\n\r\n', 'latin1'), [505]],
  ['lines that end in LF alone', GET_ME.replaceAll('\r\n', '\n'), [505]],

  // The query.
  ['a query of 60 KB', get(`/v1/jobs?x=${'q'.repeat(60_000)}`), [200]],
  ['a parameter given twice, the last counting', get('/v1/jobs?limit=9&limit=1'), [200]],
  ['a parameter given twice, the first of them bad', get('/v1/jobs?limit=x&limit=1'), [400]],
  ['a parameter given twice, the last of them bad', get('/v1/jobs?limit=1&limit=x'), [400]],
  ['a query that cannot be read', get('/v1/jobs?name=%zz'), [400]],
  ['a query of ampersands', get(`/v1/jobs?${'&'.repeat(1000)}`), [200]],
  ['2,000 parameters', get(`/v1/jobs?${'a=b&'.repeat(2000)}limit=1`), [200]],

  // Headers.
  ['a header of 100 KB', get('/v1/me', `X-Long: ${'a'.repeat(100_000)}\r\n`), [200]],
  ['5,000 headers', get('/v1/me', 'X-A: b\r\n'.repeat(5000)), [431]],
  ['a header without a name', get('/v1/me', ': x\r\n'), [200]],
  ['Expect: 100-continue', post('Expect: 100-continue\r\nContent-Length: 2\r\n'), [100, 200]],
  ['a body that nobody asked for', `${get('/v1/me', 'Content-Length: 5\r\n')}hello${GET_ME}`, [200, 200]],

  // Several requests at once: never an answer that belongs to another one.
  ['three requests at once', GET_ME.repeat(3), [200, 200, 200]],
  ['a second request before the first is answered', get('/v1/jobs') + GET_ME, []],

  // Where the library waits for what never comes, its time limit ends that: ten seconds.
  ['150 headers', get('/v1/me', 'X-A: b\r\n'.repeat(150)), []],
  ['a space before the colon', `GET /v1/me HTTP/1.1\r\n${HOST}Authorization : Bearer tok\r\n\r\n`, []],
  ['a folded header', `GET /v1/me HTTP/1.1\r\n${HOST}Authorization:\r\n Bearer tok\r\n\r\n`, []],
  ['a NUL in a header', get('/v1/me', 'X-Odd: a\0b\r\n'), []],
  ['an escape in a header', get('/v1/me', 'X-Odd: \x1b[31m\r\n'), []],
  ['a line break without its other half in a header', get('/v1/me', 'X-Odd: a\nX-More: b\r\n'), []],
  ['a chunk with an extension', chunked('2;a=b\r\n{}\r\n0\r\n\r\n'), []],
  ['half a first line', 'GET /v1/me HT', [505]],
  ['half a head', `GET /v1/me HTTP/1.1\r\n${HOST}`, []],
];

/**
 * What node:http does otherwise: it reads what came before HTTP/1.1 and what proxies send, knows the registered
 * methods only, says why where uWebSockets.js hangs up or waits, and answers requests that were sent in one go.
 */
const ON_NODE: Record<string, number[]> = {
  'the same Content-Length twice': [400],
  'two Content-Lengths': [400],
  'two Content-Lengths, the larger first': [400],
  'a NUL in the path': [400],
  'a path that is not UTF-8': [400],
  'an absolute target': [200],
  'a target of OPTIONS alone': [204],
  CONNECT: [404],
  'a method in lower case': [400],
  'a method of its own making': [400],
  'a method of 5,000 letters': [400],
  'HTTP/1.0': [200],
  'HTTP/0.9': [408],
  'HTTP/2': [400],
  'HTTP/9.9': [400],
  TLS: [400],
  noise: [400],
  'lines that end in LF alone': [400],
  'a header without a name': [400],
  'a second request before the first is answered': [200, 200],
  '150 headers': [431],
  'a space before the colon': [400],
  'a folded header': [400],
  'a NUL in a header': [400],
  'an escape in a header': [400],
  'a line break without its other half in a header': [400],
  'a chunk with an extension': [200],
  'half a first line': [408],
  'half a head': [408],
};

/** Statuses of the answers in what a connection has brought. */
const statusesIn = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe('a request that no client would write', () => {
  const scope = new OpenScope();
  let target: Target;
  before(async () => {
    target = await Target.start(scope, ['--principal', 'ada:tok:admin']);
  });
  after(() => scope.end());

  /** Sends bytes; `received` grows, and `closed` says that the server has closed the connection. */
  function say(bytes: string | Buffer) {
    const said = { received: '', closed: false };
    const socket = connect(target.port, '127.0.0.1');
    scope.after(() => socket.destroy());
    socket.on('data', (chunk) => {
      said.received += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      said.closed = true;
    });
    socket.write(bytes);
    return said;
  }

  it('is answered or hung up on, as the table says, and never answered as another one', async () => {
    const all = CASES.map(([name, bytes, statuses]) => ({ name, statuses, said: say(bytes) }));
    const wrong: string[] = [];
    const onNode = (await transportHere()) === 'node';
    for (const { name, statuses: elsewhere, said } of all) {
      const statuses = (onNode ? ON_NODE[name] : undefined) ?? elsewhere;
      // A connection that stays open is idle for ten seconds before it is closed.
      await until(`the end of ${name}`, () => said.closed);
      const got = statusesIn(said.received);
      if (String(got) !== String(statuses)) wrong.push(`${name}: ${got} instead of ${statuses}`);
    }
    assert.deepEqual(wrong, []);
    await target.assertUnharmed('requests that no client would write');
  });

  it('is refused with a message of what is wrong where the server itself refuses it', async () => {
    for (const [more, body, what] of [
      [
        'Content-Length: 2\r\nContent-Length: 3\r\n',
        '{}',
        /more than one 'content-length' header|cannot be read: .*Content-Length/,
      ],
      ['Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n', /'transfer-encoding' other than chunked/],
    ] as const) {
      const said = say(post(more, body));
      await until('the answer', () => said.closed);
      const answer = JSON.parse(said.received.slice(said.received.indexOf('\r\n\r\n')));
      assert.equal(answer.code, 'malformed_request');
      assert.match(answer.detail, what);
    }
  });

  it('harms only its own connection, in whatever pieces it comes', async () => {
    const wholes = [GET_ME, post('Content-Length: 2\r\n'), chunked('2\r\n{}\r\n0\r\n\r\n')];
    const all = wholes.map((text) => {
      const said = { received: '' };
      const socket = connect(target.port, '127.0.0.1');
      scope.after(() => socket.destroy());
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        said.received += chunk.toString('latin1');
      });
      // The library that parses requests takes half a first line for one of HTTP/1.0; behind it, any piece will do.
      const line = text.indexOf('\r\n') + 2;
      socket.write(text.slice(0, line));
      const bytes = [...Buffer.from(text.slice(line))];
      // A byte at a time, each a write of its own.
      const next = () => {
        const byte = bytes.shift();
        if (byte !== undefined) socket.write(Buffer.from([byte]), () => setImmediate(next));
      };
      next();
      return said;
    });
    for (const said of all) {
      await until('the answer', () => said.received !== '');
      assert.deepEqual(statusesIn(said.received), [200], said.received.slice(0, 300));
    }
    await target.assertUnharmed('requests in pieces');
  });

  it('may be random noise, which harms no other client', async () => {
    const open = await Target.start(scope);
    assert.equal(await noise(open, { seed: 20_240_607, runs: 20 }), 200);
  });
});
