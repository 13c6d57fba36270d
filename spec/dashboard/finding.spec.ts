import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { browserForTests } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const names = (page: Page) => page.locator('#jobs .jobs .name').allTextContents();

/** Whether all of an element is on the screen, without scrolling. */
const inSight = (one: Locator): Promise<boolean> =>
  one.evaluate((element: Element) => {
    const { top, bottom, left, right } = element.getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && bottom > top;
  });

/** A hundred jobs that ended, the first of which runs again while the others came after it. */
async function busyServer(t: Parameters<typeof startTestServer>[0]) {
  const server = await startTestServer(t);
  const { client } = server;
  const hand = await Hand.register(client, { name: 'bench', slots_total: 2 });
  const old = await submit(client, { name: 'runs long', ...pipelines('a', 'b') });
  await hand.run();
  for (let i = 1; i <= 100; i++) {
    await submit(client, { name: `ended ${i}` });
    const task = await hand.run();
    // The second task of the old one is the first to be leased.
    if (task.job_id === old.id) await hand.fail(task, 'no');
    else await hand.complete(task, { metrics: { best_rmse: i } });
  }
  await submit(client, { name: 'waits', requirements: { labels: { site: 'lab-z' } } });
  return { server, hand, old };
}

describe('what a person looks for on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('is at the top of the list while it runs, however many jobs came after it', async (t) => {
    const { server, hand, old } = await busyServer(t);
    const page = await open(server.url, { viewport: DESK });
    await until('the jobs', async () => (await names(page)).length > 0);
    assert.deepEqual((await names(page)).slice(0, 2), ['runs long', 'waits']);
    assert.equal((await names(page)).length, 51);
    const older = page.getByRole('button', { name: 'Older' });
    await older.click();
    await until('the second page', async () => (await names(page))[0] === 'ended 51');
    await page.goBack();
    await until('the first page', async () => (await names(page))[0] === 'runs long');

    // Not moved away under the eyes of whoever has it open.
    await page.getByRole('button', { name: 'Details of runs long' }).click();
    await page.locator('.panel').waitFor();
    const [left] = await server.client.call('listJobTasks', { params: { id: old.id } });
    const aim = { task_id: left?.id as string, attempt: 1 } as Parameters<typeof hand.complete>[0];
    await hand.complete(aim, { metrics: { best_rmse: 1 } });
    await page.getByText('succeeded, 1 failed').first().waitFor();
    assert.equal(await page.locator('.pinned').count(), 1, 'it is older than the page, and stays open');
    await page.getByRole('button', { name: 'Details of runs long' }).click();
    await until('its place', async () => (await names(page))[0] === 'waits');
  });

  it('is found by a link, at the top of the screen, wherever it stands in the list', async (t) => {
    const { server } = await busyServer(t);
    const [job] = await server.client.call('listJobs', { query: { name: 'ended 60' } });
    for (const viewport of [DESK, PHONE]) {
      const page = await open(server.url, { viewport, path: `/ui?job=${job?.id}` });
      await page.locator('.panel [role=tablist]').waitFor();
      const row = page.locator(`tr[data-job="${job?.id}"]`);
      await until('the row in sight', () => inSight(row));
      assert.ok(await inSight(page.locator('.panel [role=tablist]')), 'and what the link is about');
      await until('the row below the bar', async () => {
        const bar = await page.locator('.top-bar').boundingBox();
        const box = await row.boundingBox();
        return (box?.y ?? 0) >= (bar?.height ?? 0) - 1;
      });
    }
  });

  it('is in sight at once when something went wrong: failed tasks and workers, past a hundred jobs', async (t) => {
    const { server } = await busyServer(t);
    const page = await open(server.url, { viewport: DESK });
    await page.getByRole('button', { name: 'Details of ended 70' }).waitFor();
    const failed = page.locator('.tile', { hasText: 'Failed tasks' });
    await until('the number', async () => (await failed.locator('.number').textContent()) === '1');
    assert.ok(await inSight(failed));
    assert.ok(await inSight(page.getByRole('row', { name: /bench/ })));
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    assert.ok(await inSight(page.getByRole('row', { name: /bench/ })), 'wherever one has scrolled');

    const phone = await open(server.url, { viewport: PHONE, isMobile: true, hasTouch: true });
    await phone.getByRole('button', { name: 'Details of ended 70' }).waitFor();
    assert.ok(await inSight(phone.locator('.tile', { hasText: 'Failed tasks' })));
    await phone.evaluate('scrollTo(0, document.body.scrollHeight)');
    await phone.getByRole('link', { name: 'Workers' }).tap();
    const worker = phone.getByRole('row', { name: /bench/ });
    await worker.waitFor();
    await until('the worker', () => inSight(worker));
    assert.equal(new URL(phone.url()).search, '?view=workers', 'which can be linked to');
    await phone.goBack();
    await phone.getByRole('button', { name: 'Details of ended 70' }).waitFor();
  });
});

/** What a test needs of an element and its window. */
interface Element {
  getBoundingClientRect(): { left: number; right: number; top: number; bottom: number };
}
declare const innerHeight: number;
declare const innerWidth: number;
