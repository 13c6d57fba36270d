import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import type { Page } from 'playwright-core';
import { Freshness } from '../../gateway/ui/client/model/freshness.ts';
import { dateTime } from '../../gateway/ui/client/text/format.ts';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

/** The console errors of a browser whose server is away. */
const AWAY = /ERR_CONNECTION|WebSocket connection|ERR_EMPTY_RESPONSE|50[234]/;

const alert = (page: Page) => page.getByRole('alert');
const away = (page: Page) => alert(page).getByText('The server cannot be reached.').waitFor();

describe('the dashboard while its server is away', requires('chromium'), () => {
  const open = browserForTests();

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`says so once, greys everything, and shows how old its data is, ${colorScheme}`, async (t) => {
      const server = await startTestServer(t, { port: await quietPort() });
      const hand = await Hand.register(server.client, { name: 'bench', slots_total: 2 });
      const job = await submit(server.client, { name: 'watched', ...pipelines('a', 'b') });
      await hand.run();
      const page = await open(server.url, {
        expected: AWAY,
        colorScheme,
        path: `/ui?job=${job.id}&tab=tasks`,
        timezoneId: Intl.DateTimeFormat().resolvedOptions().timeZone,
      });
      await page.getByRole('row', { name: /bench/ }).getByText('alive').waitFor();
      await page.locator('.tasks').getByText('running').waitFor();
      assert.equal(await alert(page).count(), 0);
      const before = Math.floor(Date.now() / 1000);
      await server.stop();
      await away(page);

      const told = (await alert(page).locator('time').textContent()) as string;
      const possible = Array.from({ length: 60 }, (_, i) => dateTime(before - 30 + i));
      assert.ok(possible.includes(told), `${told} is when the last data came`);
      // Every part of the page has asked meanwhile, and had no answer.
      for (let i = 0; i < 3; i++) await page.getByRole('button', { name: 'Try now' }).click();
      await page.getByText('Offline', { exact: true }).waitFor();
      assert.equal(await alert(page).count(), 1, 'one banner');
      assert.equal(await page.locator('.fault').count(), 0, 'and nothing beside it');
      assert.deepEqual(await colours(page), [], 'nothing is left in colour');
      assert.deepEqual(await seriousFaults(page), []);

      const again = await startTestServer(t, { state: server.stateDir, port: server.port });
      await alert(page).waitFor({ state: 'detached' });
      await submit(again.client, { name: 'news' });
      await page.locator('#jobs').getByText('news').waitFor();
      assert.notDeepEqual(await colours(page), []);
    });
  }

  it('follows a server that comes back with an older state, whose events have smaller numbers', async (t) => {
    const server = await startTestServer(t, { port: await quietPort() });
    await submit(server.client, pipelines('a', 'b', 'c'));
    await submit(server.client, pipelines('d'));
    const page = await open(server.url, { expected: /ERR_CONNECTION|WebSocket connection|404/ });
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
    await page.locator('#feed .event').nth(1).waitFor();
    await server.stop();
    await away(page);
    const again = await startTestServer(t, { port: server.port });
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
    await submit(again.client, { name: 'news' });
    await page.locator('#jobs').getByText('news').waitFor();
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
  });

  it('recognises a proxy that answers in place of the server', async (t) => {
    const server = await startTestServer(t);
    await submit(server.client, { name: 'known' });
    const page = await open(server.url, { expected: AWAY });
    await page.locator('#jobs').getByText('known').waitFor();
    await page.route('**/v1/**', (route) => route.fulfill({ status: 502, body: '<h1>Bad Gateway</h1>' }));
    await server.stop();
    await away(page);
    assert.equal(await alert(page).count(), 1);
    assert.equal(await page.locator('.fault').count(), 0);
  });

  it('keeps the text of a refusal within its card, whatever is in it', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url, { expected: /500/ });
    await page.route('**/v1/stats', (route) =>
      route.fulfill({
        status: 500,
        json: { detail: `the store cannot be read: ${'x'.repeat(200)}`, code: 'internal' },
      }),
    );
    await page.reload();
    await page.locator('.stats .fault').waitFor();
    const outside = await page.locator('.stats').evaluate(beyond);
    assert.deepEqual(outside, []);
  });
});

describe('the age of the data on the dashboard', () => {
  function freshness() {
    const link = signal({ is: 'live' });
    const now = signal(1000);
    const lost = () => {
      link.value = { is: 'waiting' };
    };
    return { now, lost, fresh: new Freshness(link, { now, present: () => now.value }) };
  }

  it('is not shown during a short restart', () => {
    const { now, lost, fresh } = freshness();
    lost();
    fresh.missed();
    assert.equal(fresh.stale.value, false);
    now.value += 2;
    assert.equal(fresh.stale.value, true);
    fresh.heard();
    assert.equal(fresh.stale.value, false);
    assert.equal(fresh.heardAt.value, 1002);
  });

  it('is shown also where the stream has not noticed the outage yet', () => {
    const { now, fresh } = freshness();
    fresh.missed();
    now.value += 2;
    assert.equal(fresh.stale.value, true);
  });

  it('is not shown as long as requests are answered, also where no stream comes through', () => {
    const { now, lost, fresh } = freshness();
    lost();
    now.value += 60;
    fresh.heard();
    assert.equal(fresh.stale.value, false);
  });
});

interface Box {
  className: string;
  getBoundingClientRect(): { left: number; right: number; top: number; bottom: number };
  querySelectorAll(selector: string): Iterable<Box>;
}

/** What reaches out of an element. */
function beyond(card: Box): string[] {
  const frame = card.getBoundingClientRect();
  return [...card.querySelectorAll('*')]
    .filter((one) => {
      const box = one.getBoundingClientRect();
      return box.bottom > frame.bottom + 1 || box.right > frame.right + 1;
    })
    .map((one) => one.className);
}

/** The colours in a picture of what the server said, in which red, green and blue differ. */
async function colours(page: Page): Promise<string[]> {
  await page.mouse.move(0, 0);
  // The bar and the banner are the page's own words.
  const mask = [page.locator('.top-bar'), page.locator('.banner')];
  const shot = await page.locator('.overview').screenshot({ mask, maskColor: '#000000' });
  const picture = shot.toString('base64');
  return page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${picture}';
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b] = data.subarray(i, i + 3);
      if (Math.max(r, g, b) - Math.min(r, g, b) > 60) found.add(r + ',' + g + ',' + b);
    }
    return [...found].slice(0, 5);
  })()`) as Promise<string[]>;
}
