import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requires } from '../support/requires.ts';
import { reverseProxy } from '../support/reverse-proxy.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { browserForTests } from './browser.ts';
import { Hand, submit } from './hands.ts';

describe('the dashboard below a path of a reverse proxy', requires('chromium'), () => {
  const open = browserForTests();

  for (const strips of [true, false]) {
    it(`shows, follows and acts where the proxy ${strips ? 'strips' : 'keeps'} the path`, async (t) => {
      const server = await startTestServer(t, { basePath: '/lab/jq', token: 'secret' });
      const client = server.clientWith('secret');
      const origin = new URL(server.url).origin;
      const proxied = await reverseProxy(t, origin, { path: '/lab/jq', strips, renames: true });
      const page = await open(proxied, { token: 'secret' });
      assert.equal(new URL(page.url()).pathname, '/lab/jq/ui');

      // What happens behind the page's back arrives by the socket.
      await page.getByText(/^Live/).first().waitFor();
      await submit(client, { name: 'below a path', retry: { max_attempts: 1 } });
      await page.getByRole('button', { name: 'Details of below a path' }).click();
      assert.equal(new URL(page.url()).pathname, '/lab/jq/ui', 'links to what is open keep the path');
      const hand = await Hand.register(server.clientWith('secret', 'worker'));
      const task = await hand.run();
      await hand.upload(task, await temporaryDirectory(t), 'logs', 'log.txt', 'what it printed');
      await hand.fail(task, 'broken', false);
      await page.getByText('broken').first().waitFor();

      await page.getByRole('tab', { name: /^Tasks/ }).click();
      const download = page.waitForEvent('download');
      await page
        .getByRole('button', { name: /^Download logs/ })
        .first()
        .click();
      assert.equal((await download).suggestedFilename(), 'log.txt');

      await page
        .getByRole('button', { name: /^Retry/ })
        .first()
        .click();
      // It is queued anew, as the page is told.
      await page.locator('tr', { hasText: 'below a path' }).getByText('queued').first().waitFor();

      const link = page.url();
      await page.goto(link);
      await page.getByRole('region', { name: 'Tasks' }).waitFor();
    });
  }
});
