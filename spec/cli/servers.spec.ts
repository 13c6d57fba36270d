import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { json, serverThat } from '../support/server-that.ts';
import { run } from './cli-support.ts';
import { scene } from './scene.ts';

const now = () => Date.now() / 1000;

describe('the list of servers', () => {
  it('has the one of a state directory, which leads, without an epoch', async (t) => {
    const { server, ctl } = await scene(t, { store: undefined });
    const { stdout } = await ctl('servers');
    assert.match(stdout, /^ *server +status +since +epoch +behind +version +seen +on\n/);
    assert.match(
      stdout,
      new RegExp(`^${server.url} +leading +\\S+ \\S+ +- +0 .* (just now|\\d+ s ago) `, 'm'),
    );
    const { servers } = JSON.parse((await ctl('servers', '--json')).stdout);
    assert.deepEqual([servers.length, servers[0].status], [1, 'leading']);
  });

  it('says who leads under which epoch, how far the others are, and who is silent', async (t) => {
    const of = { place: 'db2, process 7', version: '0.1.0', since: now() - 60, last_seen_at: now() - 1 };
    const { url } = await serverThat(
      t,
      json(200, {
        last_event_id: 700,
        servers: [
          { ...of, id: 'a', address: 'http://a:8765', status: 'leading', epoch: 4, event_id: 700 },
          { ...of, id: 'b', address: 'http://b:8765', status: 'standing_by', epoch: null, event_id: 688 },
          {
            ...of,
            id: 'c',
            address: null,
            status: 'silent',
            epoch: null,
            event_id: 9,
            last_seen_at: now() - 30,
          },
        ],
      }),
    );
    const { stdout } = await run(['servers'], { env: { JQ_SERVER: url } });
    assert.match(stdout, /^http:\/\/a:8765 +leading +.* 4 +0 +0\.1\.0 +\d s ago +db2, process 7$/m);
    assert.match(stdout, /^http:\/\/b:8765 +standing by +.* - +12 /m);
    assert.match(stdout, /^- +silent +.* 691 +0\.1\.0 +3\d s ago/m);
  });
});
