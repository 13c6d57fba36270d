import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';

const now = () => Date.now() / 1000;

const three = () => {
  const of = {
    place: 'db2, process 7',
    version: '0.1.0',
    since: now() - 200,
    last_seen_at: now(),
    differs: [] as string[],
  };
  return {
    last_event_id: 700,
    servers: [
      { ...of, id: 'a', address: 'http://a:8765', status: 'leading', epoch: 4, event_id: 700 },
      {
        ...of,
        id: 'b',
        address: 'http://b:8765',
        status: 'standing_by',
        epoch: null,
        event_id: 688,
        differs: ['--objects'],
      },
      { ...of, id: 'c', address: null, status: 'silent', epoch: null, event_id: 9, last_seen_at: now() - 30 },
    ],
  };
};

describe('the servers on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('are shown where there are several: who leads since when, and how far the others are', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url);
    await page.locator('.tile').first().waitFor();
    assert.equal(await page.locator('.servers').count(), 0, 'one alone is nothing to tell');
    await page.route('**/v1/servers', (route) => route.fulfill({ json: three() }));
    await page.reload();
    const list = page.getByRole('list', { name: 'Servers' });
    await list.waitFor();
    const lines = await list.getByRole('listitem').allTextContents();
    assert.deepEqual(
      lines.map((line) => line.replace(/\d+ s ago/, 'N s ago')),
      [
        'http://a:8765 leads since 3 min ago, epoch 4',
        'http://b:8765 stands by since 3 min ago, 12 events behind, told otherwise: --objects',
        'db2, process 7 is silent, last seen N s ago',
      ],
    );
    assert.deepEqual(await seriousFaults(page), []);
  });
});
