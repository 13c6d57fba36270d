import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests, type Visit } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

const shared = (name: string) => ({ kind: 'shared_path' as const, path: `/data/${name}`, name });

/** What a button of the page saves. */
async function savedBy(page: Page, button: string): Promise<{ name: string; text: string }> {
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: button }).click();
  const download = await coming;
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
}

describe('the pictures of a job on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  /** Two pipelines on two datasets, of which one task failed. */
  async function matrix(t: TestContext, visit: Visit = {}) {
    const server = await startTestServer(t);
    const { dataset: _, ...rest } = { dataset: undefined, ...pipelines('pls', 'snv') };
    const text = JSON.stringify({
      type: 'demo.run',
      name: 'matrix',
      ...rest,
      datasets: [shared('corn'), shared('rye')],
    });
    const { id } = await server.client.call('submitJob', { text });
    const hand = await Hand.register(server.client);
    for (const best_rmse of [1, 100, 3]) await hand.finish({ best_rmse });
    await hand.fail(await hand.run(), 'broken');
    const page = await open(server.url, { path: `/ui?job=${id}&tab=plots`, ...visit });
    await page.getByRole('slider', { name: /^best_rmse of 3 tasks/ }).waitFor();
    return { page, id, server };
  }

  it('show its metric by pipeline, the best first, and what failed', async (t) => {
    const { page } = await matrix(t);
    await page.getByRole('slider', { name: 'best_rmse of 3 tasks, smallest first; 1 failed.' }).focus();
    const words = page.locator('.plot-words').first();
    for (const [key, expected] of [
      ['Home', '1. pls on corn: best_rmse 1'],
      ['ArrowRight', '2. snv on corn: best_rmse 3'],
      ['End', 'snv on rye failed; see Errors'],
    ] as const) {
      await page.keyboard.press(key);
      assert.equal(await words.textContent(), expected);
    }
    const names = page.getByRole('region', { name: 'Metric by pipeline' }).locator('.plot-tick');
    const written = await names.allTextContents();
    for (const name of ['pls on corn', 'snv on corn', 'pls on rye', 'snv on rye'])
      assert.ok(written.includes(name), `${name} is written beside its point`);
  });

  it('have what failed beside the scale, as crosses, and without a number in the table that is saved', async (t) => {
    const { page, id } = await matrix(t);
    const region = page.getByRole('region', { name: 'Metric by pipeline' });
    const box = async (selector: string) => (await region.locator(selector).boundingBox()) ?? { x: 0 };
    const [crosses, edge] = [await box('.plot-crosses'), await box('.plot-line')];
    assert.ok(crosses.x > edge.x, 'the cross stands behind the end of the scale');
    assert.equal(await region.locator('.plot-tick', { hasText: /^failed$/ }).count(), 1);
    assert.equal(await region.locator('.plot-keys .cross').textContent(), 'failed');
    const saved = await savedBy(page, 'Save the numbers of best_rmse-by-pipeline as CSV');
    assert.equal(saved.name, 'matrix-best_rmse-by-pipeline.csv', id);
    assert.deepEqual(saved.text.trimEnd().split('\r\n'), [
      'place,pipeline,dataset,status,best_rmse',
      ...['1,pls,corn,succeeded,1', '2,snv,corn,succeeded,3', '3,pls,rye,succeeded,100'],
      ',snv,rye,failed,',
    ]);
  });

  it('name each of two dozen tasks, by what tells them apart', async (t) => {
    const server = await startTestServer(t);
    const steps = Array.from({ length: 24 }, (_, i) => [
      { savitzky_golay: { window: 11, polynomial: 2, derivative: 1 } },
      { pls: { components: i + 1 } },
    ]);
    const inline = steps.map((pipeline) => ({ kind: 'inline_json', inline: pipeline }));
    const spec = { type: 'demo.run', pipelines: inline, dataset: shared('corn') };
    const { id } = await server.client.call('submitJob', { text: JSON.stringify(spec) });
    const hand = await Hand.register(server.client);
    for (let i = 1; i <= 24; i++) await hand.finish({ best_rmse: i });
    const page = await open(server.url, { path: `/ui?job=${id}&tab=plots` });
    await page.getByRole('slider', { name: /^best_rmse of 24 tasks/ }).waitFor();
    const region = page.getByRole('region', { name: 'Metric by pipeline' });
    const written = new Set(await region.locator('.plot-tick').allTextContents());
    for (let i = 1; i <= 24; i++) assert.ok(written.has(`… » pls(components=${i})`), `${i} is named`);
    await region.getByText('pipeline, the best on top').waitFor();
  });

  it('are saved in light colours also where the page is dark', async (t) => {
    const grounds = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await matrix(t, { colorScheme });
      const { text } = await savedBy(page, 'Save the picture best_rmse-by-pipeline as SVG');
      grounds.push(text.replaceAll(/^.*?<rect/gs, '<rect'));
    }
    assert.match(grounds[0] ?? '', /^<rect [^>]*fill="rgb\(255, 255, 255\)"/);
    assert.equal(grounds[1], grounds[0]);
  });

  it('show how long the tasks ran, and save the numbers as CSV', async (t) => {
    const { page } = await matrix(t);
    await page.getByRole('slider', { name: 'Run times of 4 tasks, the longest first.' }).waitFor();
    const { text } = await savedBy(page, 'Save the numbers of run-times as CSV');
    const lines = text.trimEnd().split('\r\n');
    assert.equal(lines[0], 'series,"tasks, the longest first",seconds,words');
    assert.equal(lines.length, 5);
    assert.match(lines.join('\n'), /^failed,\d,[\d.]+,snv on rye: /m);
  });

  it('show pipelines by datasets, the better the stronger on each of them', async (t) => {
    const { page } = await matrix(t);
    const table = page.getByRole('region', { name: 'best_rmse of pipelines by datasets' });
    const rows = await table.locator('tbody tr').all();
    assert.deepEqual(await Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts())), [
      ['pls', '1', '100'],
      ['snv', '3', '× failed'],
    ]);
    const heat = (row: number) => rows[row]?.locator('td').first().getAttribute('style');
    assert.deepEqual([await heat(0), await heat(1)], ['--heat: 45%;', '--heat: 0%;']);
  });

  it('save pipelines by datasets as a picture and as a table, with those that failed everywhere', async (t) => {
    const server = await startTestServer(t);
    const { dataset: _, ...rest } = { dataset: undefined, ...pipelines('<pls>', 'snv', 'broken') };
    const spec = { type: 'demo.run', name: 'matrix', ...rest, datasets: [shared('corn'), shared('rye')] };
    const { id } = await server.client.call('submitJob', { text: JSON.stringify(spec) });
    const hand = await Hand.register(server.client);
    for (const best_rmse of [1, 100, 3]) await hand.finish({ best_rmse });
    for (let i = 0; i < 3; i++) await hand.fail(await hand.run(), 'broken');
    const page = await open(server.url, { path: `/ui?job=${id}&tab=plots`, colorScheme: 'dark' });
    await page.getByRole('region', { name: 'best_rmse of pipelines by datasets' }).waitFor();
    const table = await savedBy(page, 'Save the numbers of pipelines by datasets as CSV');
    assert.deepEqual(table, {
      name: 'matrix-best_rmse-by-dataset.csv',
      text: 'pipeline,corn,rye\r\n<pls>,1,100\r\nsnv,3,failed\r\nbroken,failed,failed\r\n',
    });
    const picture = await savedBy(page, 'Save the picture of pipelines by datasets as SVG');
    assert.equal(picture.name, 'matrix-best_rmse-by-dataset.svg');
    const written = [...picture.text.matchAll(/<text [^>]*>([^<]*)</g)].map(([, words]) => words);
    for (const words of ['corn', 'rye', '&lt;pls&gt;', '100', '× failed', 'broken'])
      assert.ok(written.includes(words), `${words} is in the picture`);
    assert.match(picture.text, /<rect width="100%" height="100%" fill="#fff"\/>/);
  });

  it('are not there before a task has ended', async (t) => {
    const server = await startTestServer(t);
    const { id } = await submit(server.client);
    const page = await open(server.url, { path: `/ui?job=${id}&tab=plots` });
    await page.getByText('No task has ended yet.').waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by everybody, in ${colorScheme} colours and on a phone`, async (t) => {
      const { page } = await matrix(t, { colorScheme, viewport: { width: 390, height: 844 } });
      assert.deepEqual(await seriousFaults(page), []);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 390, `the page is ${width} wide`);
    });
  }
});

describe('a link to the page', requires('chromium'), () => {
  const open = browserForTests();

  it('leads a colleague to the same task, who is asked for a token once', async (t) => {
    const server = await startTestServer(t, { token: 'secret' });
    await submit(server.client, { name: 'linked', ...pipelines('pls', 'snv') });
    const hand = await Hand.register(server.client);
    await hand.finish({ best_rmse: 2 });
    await hand.finish({ best_rmse: 1 });
    const mine = await open(server.url, { token: 'secret' });
    await mine.getByRole('button', { name: 'Details of linked' }).click();
    await mine.getByRole('button', { name: 'Log and files of pls on corn' }).click();
    const { pathname, search } = new URL(mine.url());
    const theirs = await open(server.url, { path: pathname + search, expected: /401|WebSocket/ });
    await theirs.locator('input[name=token]').fill('secret');
    await theirs.getByRole('button', { name: 'Use token' }).click();
    const opened = { name: 'Log and files of pls on corn', expanded: true };
    await theirs.getByRole('button', opened).waitFor();
    await theirs.reload();
    await theirs.getByRole('button', opened).waitFor();
    assert.equal(await theirs.locator('input[name=token]').count(), 0);
  });
});
