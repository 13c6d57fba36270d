import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const LONG =
  'a name that a script wrote, components=1..40 folds=10 seed=42 instrument=nir-2 operator=somebody';

/** A job with everything that takes room. */
async function fullServer(t: TestContext) {
  const server = await startTestServer(t);
  const hand = await Hand.register(server.client, {
    name: 'a-worker-whose-name-is-that-of-a-machine-in-the-cellar.lab-a.example.org',
    slots_total: 8,
    labels: { site: 'lab-a', instrument: 'a spectrometer with a long name' },
    version: { cluster: '0.0.1', packages: { demo: '1.0' } },
  });
  const job = await submit(server.client, {
    name: LONG,
    ...pipelines('standard-normal-variate-then-partial-least-squares', 'b', 'c', 'd'),
    dataset: {
      kind: 'shared_path',
      path: '/d',
      name: 'a dataset whose name says where it was measured and when',
    },
    retires: 1,
  });
  const first = await hand.run();
  const dir = await temporaryDirectory(t);
  const artifacts = {
    model: await hand.upload(first, dir, 'model', 'best_model.json', '{}'),
    logs: await hand.upload(first, dir, 'logs', 'run.log', 'line\n'.repeat(99)),
  };
  await hand.complete(first, {
    artifacts,
    metrics: { best_rmse: 0.123456, best_r2: 0.98, best_mae: 0.1, cv_rmse: 0.2 },
  });
  await hand.finish({ best_rmse: 0.3, best_r2: 0.9, best_mae: 0.2, cv_rmse: 0.3 });
  await hand.fail(await hand.run(), `Traceback\n  File "${'x'.repeat(120)}"\nValueError: singular matrix`);
  const running = await hand.run();
  await hand.tell(running, [
    { type: 'progress', level: 'info', message: 'y'.repeat(200), progress: 0.4 },
    { type: 'log', level: 'info', message: 'z'.repeat(300) },
  ]);
  return { server, job };
}

/** What does not fit: what is cut off by the page's edge, and what has to be scrolled sideways to be seen. */
const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('body *')]
    .filter((one) => one.getClientRects().length > 0 && !one.closest('.off-screen, thead, pre, svg, .u-over, .skip'))
    .filter((one) => {
      const { left, right, width } = one.getBoundingClientRect();
      const scrolls = one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX);
      return width > 1 && (right > innerWidth + 1 || left < -1 || scrolls);
    })
    .map((one) => one.tagName + '.' + one.className + ': ' + one.textContent.slice(0, 60))`) as Promise<
    string[]
  >;

/** Pairs of buttons, links and texts of one row that lie on each other. */
const overlaps = (page: Page, part: string): Promise<string[]> =>
  page.evaluate(`(() => {
    const found = [];
    for (const row of document.querySelectorAll(${JSON.stringify(part)})) {
      const cells = [...row.children].filter((one) => one.getClientRects().length > 0 && !one.matches('.skip'));
      for (const [i, a] of cells.entries()) for (const b of cells.slice(i + 1)) {
        const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
        const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
        const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
        if (wide > 1 && high > 1) found.push(a.className + ' on ' + b.className + ': ' + row.textContent.slice(0, 60));
      }
    }
    return found;
  })()`) as Promise<string[]>;

describe('the dashboard on a phone', requires('chromium'), () => {
  const open = browserForTests();

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has room for a job and all that is in it, ${colorScheme}`, async (t) => {
      const { server, job } = await fullServer(t);
      const page = await open(server.url, { ...PHONE, colorScheme, path: `/ui?job=${job.id}` });
      const fits = async (what: string) => {
        assert.deepEqual(await tooWide(page), [], what);
        assert.deepEqual(await overlaps(page, 'tr, .facts-line, .facts, .card-head, .top-bar'), [], what);
        assert.deepEqual(await seriousFaults(page), [], what);
      };
      for (const [tab, seen] of [
        ['Ranking', '.ranking tbody tr'],
        ['Tasks', 'tr.task'],
        ['Errors', '.errors'],
        ['Events', '.event-frame .event'],
        ['Specification', '.document pre'],
      ] as const) {
        await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).tap();
        await page.locator(seen).first().waitFor();
        await fits(tab);
      }
      await page.getByRole('tab', { name: /^Tasks/ }).tap();
      await page.getByRole('button', { name: /Log and details of task d/ }).tap();
      await page.locator('.log-text').getByText('zzz').waitFor();
      await fits('an open task');
      for (const view of ['Workers', 'Feed']) {
        await page.getByRole('link', { name: view }).tap();
        await page.getByRole('heading', { name: view === 'Feed' ? 'Live feed' : view }).waitFor();
        await fits(view);
      }
    });
  }

  it('shows of every rank and every task all that a wide screen shows, without its columns', async (t) => {
    const { server, job } = await fullServer(t);
    const page = await open(server.url, { ...PHONE, path: `/ui?job=${job.id}&tab=ranking` });
    const best = page.locator('.ranking tbody tr').first();
    for (const text of ['standard-normal-variate', '0.1235', '0.98']) {
      await best.getByText(text).first().waitFor();
    }
    await page.getByRole('tab', { name: /^Tasks/ }).tap();
    const running = page.getByRole('row', { name: /task d on/ });
    await running.getByText('running').waitFor();
    await running.getByText('a-worker-whose-name').waitFor();
    await page.getByText('40 %').waitFor();
  });

  it('has an open job that is not on the page of the list in its whole width, with all of its tabs', async (t) => {
    const { server, job } = await fullServer(t);
    const path = `/ui?status=failed&job=${job.id}&tab=ranking`;
    const page = await open(server.url, { ...PHONE, path });
    const caption = await page.getByText('Not on this page of the list').boundingBox();
    assert.ok(caption && caption.height < 40, `it is ${caption?.height} high`);
    await page.locator('.ranking tbody tr').first().waitFor();
    assert.deepEqual(await tooWide(page), []);
  });

  it('has targets that a thumb can hit', async (t) => {
    const { server, job } = await fullServer(t);
    const page = await open(server.url, { ...PHONE, path: `/ui?job=${job.id}&tab=tasks` });
    await page.locator('tr.task').first().waitFor();
    const small = await page.evaluate(`[...document.querySelectorAll('a, button, input, select')]
      .filter((one) => one.getClientRects().length > 0 && !one.closest('.skip'))
      .map((one) => [one.getBoundingClientRect(), one])
      .filter(([box]) => box.width > 1 && (box.height < 24 || box.width < 24))
      .map(([box, one]) => Math.round(box.width) + 'x' + Math.round(box.height) + ' ' + one.outerHTML.slice(0, 90))`);
    assert.deepEqual(small, []);
  });
});
