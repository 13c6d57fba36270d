import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { leaderBeside } from '../../gateway/client/leading.ts';
import { Authority } from '../support/certificates.ts';
import { requires } from '../support/requires.ts';
import { json, serverThat } from '../support/server-that.ts';
import { leaderThat } from './stands-by.ts';

/** Says that it stands by for the one at this address. */
const standsByFor = (address: string | null) => (request: IncomingMessage, response: ServerResponse) => {
  const of = { id: 'a', place: 'db', version: '1', since: 1, last_seen_at: 1, event_id: 1 };
  const servers = [{ ...of, address, status: 'silent', epoch: 4 }];
  const answer =
    request.url === '/readyz' ? { ok: true, time: 1, leads: false } : { servers, last_event_id: 1 };
  json(200, answer)(request, response);
};

describe('who looks for the server that leads', () => {
  test('is told where it is by one that stands by, and that it is here by one that leads, also one of other make', async (t) => {
    for (const [answer, found] of [
      [standsByFor('http://a:8765'), 'http://a:8765'],
      [standsByFor(null), null],
      [json(200, { ok: true, time: 1, leads: true }), null],
      [json(404, { detail: 'Not Found' }), null],
    ] as const) {
      const client = new ClusterClient({ server: (await serverThat(t, answer)).url, token: 'secret' });
      t.after(() => client.close());
      assert.equal(await leaderBeside(client), found);
    }
  });

  test('takes no credential that came by TLS where there is none', requires('openssl'), async (t) => {
    const authority = await Authority.make(t);
    const { url } = await leaderThat(t, standsByFor('http://a:8765'), await authority.certify('b'));
    const ca = readFileSync(authority.ca, 'utf8');
    for (const token of ['secret', undefined]) {
      const client = new ClusterClient({ server: url, ca, token });
      t.after(() => client.close());
      const found = leaderBeside(client);
      if (token === undefined) assert.equal(await found, 'http://a:8765');
      else
        await assert.rejects(found, {
          code: 'untrusted',
          message: /http:\/\/a:8765, is without TLS: the credential is not sent/,
        });
    }
  });
});
