import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests, type Visit } from './browser.ts';
import { pipelines, serverAndHand, submit } from './hands.ts';

describe('compared jobs on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  async function two(t: TestContext) {
    const { server, hand } = await serverAndHand(t);
    const ids: string[] = [];
    for (const [name, alpha, values] of [
      ['old', 1, [0.25, 0.5]],
      ['fresh', 2, [0.125, 0.75]],
    ] as const) {
      ids.push((await submit(server.client, { name, params: { alpha }, ...pipelines('pls', 'snv') })).id);
      for (const best_rmse of values) await hand.finish({ best_rmse, best_r2: 1 - best_rmse });
    }
    return { server, ids, at: (visit: Visit = {}) => open(server.url, visit) };
  }

  const cells = async (page: Page, name: string) => {
    const rows = await page.getByRole('region', { name }).locator('tbody tr').all();
    return Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()));
  };

  it('are chosen in the list, and shown side by side with what differs; the address has all of it', async (t) => {
    const { server, at } = await two(t);
    const page = await at();
    await page.getByRole('button', { name: 'Compare old' }).click();
    await page.getByText('1 job chosen; choose another one to compare them').waitFor();
    await page.getByRole('button', { name: 'Compare fresh' }).click();
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByRole('heading', { name: 'Rankings by best_rmse' }).waitFor();
    const shown = [
      ['pls', 'corn', '0.2500', '0.1250'],
      ['snv', 'corn', '0.5000', '0.7500'],
    ];
    assert.deepEqual(await cells(page, 'Rankings side by side'), shown);
    const heads = page.getByRole('region', { name: 'Rankings side by side' }).locator('thead th');
    assert.deepEqual(await heads.allInnerTexts(), ['Pipeline', 'Dataset', 'A old', 'B fresh']);
    assert.deepEqual(await page.locator('.differences dt').allInnerTexts(), ['params.alpha']);
    assert.deepEqual(await page.locator('.differences dd').allInnerTexts(), ['A\n1', 'B\n2']);
    await page.getByRole('slider', { name: /^The best best_rmse of 2 jobs/ }).focus();
    await page.keyboard.press('End');
    await page.getByText(/^B, fresh of .*: best_rmse 0\.1250$/).waitFor();
    await page.getByRole('button', { name: 'best_r2' }).click();
    await page.getByRole('heading', { name: 'Rankings by best_r2' }).waitFor();
    const { pathname, search } = new URL(page.url());
    const other = await open(server.url, { path: pathname + search });
    await other.getByRole('heading', { name: 'Rankings by best_r2' }).waitFor();
    await other.getByRole('button', { name: 'Choose others' }).click();
    await other.getByRole('button', { name: 'Compare old', pressed: true }).click();
    await other.getByText('1 job chosen').waitFor();
  });

  it('are joined by no line where their errors are of different samples, which is said; marks are called as in the table', async (t) => {
    const { server, hand } = await serverAndHand(t);
    const ids: string[] = [];
    for (const [name, validation, best_rmse] of [
      ['validated', 'k_fold', 0.25],
      ['tested', 'test_set', 0.125],
    ] as const) {
      ids.unshift((await submit(server.client, { name, ...pipelines('pls') })).id);
      await hand.complete(await hand.run(), { metrics: { best_rmse, cv_rmse: 0.25 }, extra: { validation } });
    }
    const page = await open(server.url, { path: `/ui?view=compare&compare=${ids.join(',')}` });
    const warning = page.getByText(
      /^best_rmse is not the same in all of them: A of test samples, B of cross-/,
    );
    await warning.waitFor();
    await page.getByRole('heading', { name: 'Rankings by cv_rmse' }).waitFor();
    const plot = page.getByRole('region', { name: 'The best of each job over time' });
    await until('its curve', async () => (await plot.locator('.plot-curve').count()) === 1);
    assert.deepEqual((await plot.locator('.plot-tick').allTextContents()).slice(0, 2), ['B', 'A']);
    await page.getByRole('button', { name: 'best_rmse' }).click();
    await page.getByRole('heading', { name: 'Rankings by best_rmse' }).waitFor();
    await warning.waitFor();
    await until('no curve', async () => (await plot.locator('.plot-curve').count()) === 0);
    assert.equal(await page.locator('.leading').count(), 0);
  });

  it('are saved as CSV', async (t) => {
    const { ids, at } = await two(t);
    const page = await at({ path: `/ui?view=compare&compare=${ids.join(',')}` });
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the table as CSV' }).click();
    const download = await coming;
    assert.equal(download.suggestedFilename(), 'compared-by-best_rmse.csv');
    const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
    assert.deepEqual(lines, [
      `pipeline,dataset,A ${ids[0]},B ${ids[1]}`,
      'pls,corn,0.25,0.125',
      'snv,corn,0.5,0.75',
      '',
    ]);
  });

  it('are told to be gone where one is', async (t) => {
    const { ids, at } = await two(t);
    const page = await at({ path: `/ui?view=compare&compare=${ids[0]},job_none`, expected: /404/ });
    await page.getByText(/The jobs could not be read: .*job_none/).waitFor();
    const none = await at({ path: '/ui?view=compare' });
    await none.getByText('Choose at least two jobs in the list.').waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by everybody, in ${colorScheme} colours and on a phone`, async (t) => {
      const { ids, at } = await two(t);
      const path = `/ui?view=compare&compare=${ids.join(',')}`;
      const page = await at({ path, colorScheme, viewport: { width: 390, height: 844 } });
      await page.getByRole('heading', { name: 'What differs' }).waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 390, `the page is ${width} wide`);
    });
  }
});
