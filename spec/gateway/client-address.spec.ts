import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClientAddresses } from '../../gateway/http/admission/client-address.ts';
import { HeadReader } from '../../gateway/transport/head.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { until } from '../support/until.ts';
import { bearer, gatewayFor, RawConnection, recordingLog } from './support.ts';

/** A head with these lines of X-Forwarded-For. */
function headOf(...lines: string[]) {
  const reader = new HeadReader();
  for (const line of lines) reader.add('x-forwarded-for', line);
  return reader.head('GET', '/', '');
}

describe('the address of a client', () => {
  const cases: [title: string, trusted: string[], peer: string, lines: string[], client: string][] = [
    ['is the other end of the connection', [], '10.0.0.9', [], '10.0.0.9'],
    ['is that whatever a client says of itself', [], '10.0.0.9', ['1.2.3.4'], '10.0.0.9'],
    ['is that also where others are trusted', ['10.0.0.2'], '10.0.0.9', ['1.2.3.4'], '10.0.0.9'],
    ['is what a trusted proxy says', ['10.0.0.2'], '10.0.0.2', ['1.2.3.4'], '1.2.3.4'],
    ['is the last that a trusted proxy wrote', ['10.0.0.2'], '10.0.0.2', ['6.6.6.6, 1.2.3.4'], '1.2.3.4'],
    [
      'is found behind several of them',
      ['10.0.0.0/24'],
      '10.0.0.2',
      ['6.6.6.6, 1.2.3.4, 10.0.0.3'],
      '1.2.3.4',
    ],
    ['is found in lines of their own', ['10.0.0.2'], '10.0.0.2', ['6.6.6.6', '1.2.3.4'], '1.2.3.4'],
    ['is the first of the list where all are trusted', ['loopback'], '127.0.0.1', ['127.0.0.2'], '127.0.0.2'],
    ['is the last one known where the list is no list', ['loopback'], '::1', ['1.2.3.4, unknown'], '::1'],
    ['may come with a port', ['loopback'], '::1', ['1.2.3.4:99'], '1.2.3.4'],
    ['may be of IPv6, with a port too', ['loopback'], '127.0.0.1', ['[2001:DB8::0:1]:99'], '2001:db8::1'],
    [
      'is of IPv4 also on a socket of IPv6',
      ['10.0.0.0/8'],
      '0000:0000:0000:0000:0000:ffff:0a00:0002',
      ['::ffff:1.2.3.4'],
      '1.2.3.4',
    ],
    ['is found by networks of IPv6', ['fd00::/8'], 'fd12::1', ['1.2.3.4'], '1.2.3.4'],
  ];
  for (const [title, trusted, peer, lines, client] of cases) {
    it(title, () => assert.equal(new ClientAddresses(trusted).of(headOf(...lines), peer), client));
  }

  it('is refused for --trust-proxy where it is none, with a message', () => {
    for (const text of ['', 'proxy.lab', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.1 10.0.0.2']) {
      assert.throws(
        () => new ClientAddresses([text]),
        (fault) => fault instanceof StartError && /--trust-proxy '.*' is none of these/.test(fault.message),
        text,
      );
    }
  });

  it('stands in the line of a request that is refused, and of one that acts', async () => {
    const { log, lines } = recordingLog();
    await using gateway = await gatewayFor({
      principals: ['al:secret:admin'],
      log,
      trustProxy: ['127.0.0.1'],
    });
    const connection = await RawConnection.open(gateway.port);
    const forwarded = { 'X-Forwarded-For': '198.51.100.7' };
    connection.head('GET /v1/stats', forwarded);
    assert.equal((await connection.answer()).status, 401);
    connection.head('GET /v1/me', { ...forwarded, ...bearer('secret') });
    assert.equal((await connection.answer()).status, 200);
    connection.socket.destroy();
    const found = () =>
      lines.map((line) => JSON.parse(line)).filter(({ client }) => client === '198.51.100.7');
    await until('both lines', () => found().length >= 2);
    assert.deepEqual(new Set(found().map(({ status }) => status)), new Set([401, 200]));
  });
});
