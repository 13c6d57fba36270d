import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

/** A server where something of everything has happened. */
async function livelyServer(t: TestContext) {
  const server = await startTestServer(t);
  const { client } = server;
  const hand = await Hand.register(client, { name: 'bench', slots_total: 4, labels: { site: 'lab-a' } });
  await Hand.register(client, { name: 'attic', version: { cluster: '0.0.1' } });
  const job = await submit(client, {
    name: 'of everything',
    ...pipelines('a', 'b', 'c', 'd'),
    requirements: { labels: { site: 'lab-a' } },
    retires: 1,
  });
  const task = await hand.run();
  const logs = await hand.upload(task, await temporaryDirectory(t), 'logs', 'run.log', 'line\n'.repeat(200));
  await hand.complete(task, { metrics: { best_rmse: 0.2 }, artifacts: { logs } });
  await hand.fail(await hand.run(), 'the disk was full');
  const running = await hand.run();
  await hand.print(running, 'line\n'.repeat(200));
  for (const name of ['waiting', 'stopped']) {
    const { id } = await submit(client, { name, requirements: { labels: { site: 'lab-z' } } });
    if (name === 'stopped') await client.call('cancelJob', { params: { id }, body: {} });
  }
  await submit(client, { name: 'broken', priority: 9 });
  await hand.fail(await hand.run(), 'no');
  return { server, job };
}

describe('everybody can use the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`axe finds no serious fault, ${colorScheme}`, async (t) => {
      const { server, job } = await livelyServer(t);
      const page = await open(server.url, { colorScheme });
      await page.locator('#feed .event').first().waitFor();
      await page.getByRole('button', { name: 'Details of of everything' }).waitFor();
      assert.deepEqual(await seriousFaults(page), [], 'overview');
      await page.locator(`tr[data-job="${job.id}"] .opener`).click();
      for (const [tab, seen] of [
        ['Ranking', '.leading'],
        ['Errors', '.errors pre'],
        ['Events', '.event-frame .event'],
        ['Specification', '.document pre'],
        ['Tasks', '.tasks .waiting'],
      ] as const) {
        await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).click();
        await page.locator(seen).first().waitFor();
        assert.deepEqual(await seriousFaults(page, '.panel'), [], tab);
      }
      for (const pipeline of ['a', 'c']) {
        await page.getByRole('button', { name: `Log and details of task ${pipeline} on corn` }).click();
        await page.locator('.log-text').getByText('line').first().waitFor();
        assert.deepEqual(await seriousFaults(page, '.panel'), [], `log of ${pipeline}`);
      }
      await page.getByRole('button', { name: 'Cancel of everything' }).first().click();
      await page.getByRole('dialog').waitFor();
      assert.deepEqual(await seriousFaults(page, 'dialog'), [], 'question');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'anonymous' }).click();
      await page.getByRole('dialog').waitFor();
      assert.deepEqual(await seriousFaults(page, 'dialog'), [], 'access');
    });

    it(`axe finds no serious fault where access is refused, ${colorScheme}`, async (t) => {
      const server = await startTestServer(t, { token: 'secret' });
      const page = await open(server.url, { colorScheme, expected: /401/ });
      await page.getByRole('button', { name: 'Use token' }).waitFor();
      assert.deepEqual(await seriousFaults(page), []);
    });
  }

  it('by keyboard alone', async (t) => {
    const { server } = await livelyServer(t);
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of waiting' }).waitFor();
    const focused = () =>
      page.evaluate(
        `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()`,
      );
    const focusIs = (name: string) => until(`focus on ${name}`, async () => (await focused()) === name);

    await page.keyboard.press('Tab');
    await focusIs('Skip to the jobs');
    await page.keyboard.press('/');
    await focusIs('Filter jobs by name, or by what is shown of an id');
    await page.keyboard.type('e');
    assert.equal(await page.getByRole('searchbox', { name: /Filter jobs/ }).inputValue(), 'e');
    await until('the filter', async () => new URL(page.url()).searchParams.get('name') === 'e');
    await page.keyboard.press('Backspace');
    await page.getByRole('button', { name: 'Details of waiting' }).waitFor();

    await page.getByRole('button', { name: 'Details of broken' }).focus();
    await page.keyboard.press('ArrowDown');
    await focusIs('Details of stopped');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    const tabs = page.getByRole('tablist', { name: 'About this job' });
    await tabs.waitFor();
    await tabs.getByRole('tab', { selected: true }).focus();
    await page.keyboard.press('Home');
    await tabs.getByRole('tab', { name: /^Ranking/, selected: true }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await tabs.getByRole('tab', { name: 'Specification', selected: true }).waitFor();
    await page.locator('.document pre', { hasText: 'type: demo.run' }).waitFor();
    await focusIs('Specification');

    const cancel = page.getByRole('button', { name: 'Cancel waiting' });
    await cancel.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Cancel waiting?' }).waitFor();
    await focusIs('Keep it');
    await page.keyboard.press('Escape');
    await focusIs('Cancel waiting');
    await page.keyboard.press('Enter');
    await focusIs('Keep it');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    // The button has gone with the reason for it; the focus stays in its row.
    await focusIs('Details of waiting');
  });

  it('on a phone, without scrolling sideways', async (t) => {
    const { server, job } = await livelyServer(t);
    const page = await open(server.url, {
      viewport: { width: 390, height: 844 },
      path: `/ui?job=${job.id}&tab=tasks`,
      hasTouch: true,
      isMobile: true,
    });
    const overflow = () =>
      page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    await page.getByRole('button', { name: 'Log and details of task c on corn' }).tap();
    await page.locator('.log-text').getByText('line').first().waitFor();
    assert.equal(await overflow(), 0);
    await page.getByRole('button', { name: 'Details of of everything' }).tap();
    await page.locator('.log-text').waitFor({ state: 'detached' });
    assert.equal(await overflow(), 0);
    // What has no room in the row is in the open row.
    await page.getByRole('button', { name: 'Details of waiting' }).tap();
    await page.getByRole('button', { name: 'Cancel waiting' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).tap();
    await page.getByText('Cancellation requested: waiting').waitFor();
  });

  it('in the colours of the system, or in those that they choose', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url, { colorScheme: 'dark' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const dark = await ground();
    await page.getByRole('button', { name: 'Colours: as the system' }).click();
    await page.getByRole('button', { name: 'Colours: light' }).waitFor();
    const light = await ground();
    assert.notEqual(light, dark);
    await page.reload();
    await page.getByRole('button', { name: 'Colours: light' }).waitFor();
    assert.equal(await ground(), light);
    await page.getByRole('button', { name: 'Colours: light' }).click();
    await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await ground(), dark);
  });
});
