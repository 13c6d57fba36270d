import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests, type Visit } from './browser.ts';
import { Hand, submit } from './hands.ts';

const lines = Array.from(
  { length: 60 },
  (_, i) => `s${i + 1},predicted,,${i % 3 ? i : ''},${i + 0.25},starch`,
);
const PREDICTIONS = `sample,partition,fold,y,prediction,target\n${lines.join('\n')}\n`;

describe('a job that predicts, on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  /** The page of one that has predicted a dataset with the best model of another job. */
  async function predicted(t: TestContext, text: string, visit: Visit = {}) {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    const hand = await Hand.register(server.client, { labels: { 'predict.demo': 'true' } });
    const made = await submit(server.client, { name: 'sweep' });
    const run = await hand.run();
    const model = await hand.upload(run, folder, 'model', 'model', 'a model');
    await hand.complete(run, { metrics: { best_rmse: 1 }, artifacts: { model } });
    const { id } = await server.client.call('submitJob', {
      body: {
        type: 'demo.predict',
        model: { kind: 'best_model', job_id: made.id, name: 'best of sweep' },
        dataset: { kind: 'shared_path', path: '/new.csv', name: 'new' },
      },
    });
    const task = await hand.run();
    const predictions = await hand.upload(task, folder, 'predictions', 'predictions', text);
    await hand.complete(task, { metrics: { rmse: 0.25 }, artifacts: { predictions } });
    return open(server.url, { path: `/ui?job=${id}`, ...visit });
  }

  it('shows at once what it predicted of each sample, beside how good that is', async (t) => {
    const page = await predicted(t, PREDICTIONS);
    await page.getByRole('tab', { name: /^Predictions/ }).waitFor();
    const table = page.getByRole('region', { name: 'Predicted samples' });
    await table.waitFor();
    assert.deepEqual(await table.locator('thead th').allInnerTexts(), [
      ...['Sample', 'Predicted starch', 'Measured', 'Difference'],
    ]);
    const rows = await table.locator('tbody tr').allInnerTexts();
    assert.deepEqual(rows.slice(0, 2), ['s1\t0.2500\t–\t–', 's2\t1.250\t1\t0.2500']);
    assert.equal(rows.length, 50);
    await page.getByRole('button', { name: 'Show 10 more' }).click();
    await until('ten more', async () => (await table.locator('tbody tr').count()) === 60);
    await page
      .getByRole('slider', { name: /^Predicted against measured starch\. predicted samples: 40 samples/ })
      .waitFor();
    await page.getByRole('button', { name: /^Log and files of best of sweep/ }).click();
    await table.waitFor({ state: 'detached' });
  });

  it('saves them as CSV, as they were written', async (t) => {
    const page = await predicted(t, PREDICTIONS);
    const coming = page.waitForEvent('download');
    await page.getByRole('link', { name: /^Download CSV .* of the predictions/ }).click();
    assert.equal(await readFile(await (await coming).path(), 'utf8'), PREDICTIONS);
  });

  it('shows classes as they are', async (t) => {
    const classes = 'sample,partition,fold,y,prediction,target\n1,predicted,,rye,oats,\n';
    const page = await predicted(t, classes);
    const table = page.getByRole('region', { name: 'Predicted samples' });
    await table.waitFor();
    assert.deepEqual(await table.locator('tbody tr').allInnerTexts(), ['1\toats\trye']);
  });

  for (const look of ['light', 'dark'] as const) {
    it(`can be read by everybody, in ${look} colours and on a phone`, async (t) => {
      const page = await predicted(t, PREDICTIONS, {
        colorScheme: look,
        viewport: { width: 390, height: 844 },
      });
      const row = page.getByRole('region', { name: 'Predicted samples' }).locator('tbody tr').nth(1);
      await row.waitFor();
      const boxes = await Promise.all((await row.locator('th, td').all()).map((cell) => cell.boundingBox()));
      assert.equal(new Set(boxes.map((box) => box?.y)).size, 1, 'one line');
      assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390);
      assert.deepEqual(await seriousFaults(page), []);
    });
  }
});
