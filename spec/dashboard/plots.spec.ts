import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { taskWith } from './task-files.ts';

const PREDICTIONS = `sample,partition,fold,y,prediction,target
"rye, 1",validation,1,10,11,starch
"rye ""2""",validation,2,20,19,starch
3,validation,2,30,31,starch
4,test,,40,38,starch
5,test,,50,50,starch
`;
const CURVES = {
  curves: [
    {
      of: 'cross-validation',
      x: { name: 'components', values: [1, 2, 3] },
      series: { rmse: [1.3, 0.4, 0.5], r2: [0.1, 0.9, null] },
      chosen: 2,
    },
  ],
};

describe('what a task predicted, on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  const left = taskWith(open);
  const plot = (page: Page, name: RegExp) => page.getByRole('slider', { name });

  for (const tab of ['tasks', 'ranking']) {
    it(`is drawn against what was measured, with the errors of folds and test apart, in the tab ${tab}`, async (t) => {
      const page = await left(t, { predictions: PREDICTIONS }, tab);
      await plot(
        page,
        /^Predicted against measured starch\. cross-validation: 3 samples, RMSE 1, /,
      ).waitFor();
      const region = page.getByRole('region', { name: 'Predicted and measured values' });
      assert.deepEqual(await region.locator('dt, dd').allInnerTexts(), [
        ...['cross-validation', '3 samples', 'R² 0.9850', 'RMSE 1', 'bias 0.3333'],
        ...['test samples', '2 samples', 'R² 0.9200', 'RMSE 1.414', 'bias -1'],
      ]);
    });
  }

  it('tells the sample under the pointer, and goes from sample to sample by the arrow keys', async (t) => {
    const page = await left(t, { predictions: PREDICTIONS });
    const picture = plot(page, /^Predicted against/);
    await picture.focus();
    const words = page.locator('.plot-words').first();
    for (const [key, expected] of [
      ['ArrowRight', 'sample rye, 1: measured 10, predicted 11 (fold 1)'],
      ['ArrowRight', 'sample rye "2": measured 20, predicted 19 (fold 2)'],
      ['End', 'sample 5: measured 50, predicted 50 (test samples)'],
      ['ArrowRight', 'sample 5: measured 50, predicted 50 (test samples)'],
    ] as const) {
      await page.keyboard.press(key);
      assert.equal(await words.textContent(), expected);
      assert.equal(await picture.getAttribute('aria-valuetext'), expected);
    }
    const at = await page.locator('.plot-pointed').boundingBox();
    await page.mouse.move(5, 5);
    await page.keyboard.press('Home');
    await page.mouse.move((at?.x ?? 0) + (at?.width ?? 0) / 2 + 3, (at?.y ?? 0) + (at?.height ?? 0) / 2);
    await page.getByText('sample 5: measured 50').waitFor();
  });

  it('shows residuals around zero', async (t) => {
    const page = await left(t, { predictions: PREDICTIONS });
    await page.getByRole('button', { name: 'Residuals' }).click();
    await plot(page, /^Predicted less measured starch\./).waitFor();
    await page.getByText('predicted less measured', { exact: true }).waitFor();
  });

  it('shows how errors go with the number of components, and which was chosen', async (t) => {
    const page = await left(t, { curves: JSON.stringify(CURVES) });
    await plot(
      page,
      /^rmse of cross-validation by components, for 3 values\. Chosen: components 2: rmse 0\.4000\./,
    ).waitFor();
    await page.getByRole('button', { name: 'r2', exact: true }).click();
    await plot(page, /^r2 of cross-validation by components, for 2 values/).waitFor();
    await page.getByText('chosen: components 2: r2 0.9000').waitFor();
  });

  it('saves a picture as SVG, in its colours and by itself', async (t) => {
    const page = await left(t, { predictions: PREDICTIONS });
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the picture predicted-starch as SVG' }).click();
    const download = await coming;
    assert.match(download.suggestedFilename(), /^job_\w+-pls-on-corn-predicted-starch\.svg$/);
    const svg = await readFile(await download.path(), 'utf8');
    assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.doesNotMatch(svg, /class=|var\(/);
    assert.match(svg, /measured starch/);
    assert.match(svg, /stroke="rgb\(/);
  });

  it('saves the numbers with the sample, its partition and its fold', async (t) => {
    const page = await left(t, { predictions: PREDICTIONS }, 'ranking');
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the numbers of predicted-starch as CSV' }).click();
    const download = await coming;
    assert.match(download.suggestedFilename(), /^job_\w+-pls-on-corn-predicted-starch\.csv$/);
    assert.deepEqual((await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n'), [
      'sample,partition,fold,target,measured,predicted,residual',
      '"rye, 1",validation,1,starch,10,11,1',
      '"rye ""2""",validation,2,starch,20,19,-1',
      '3,validation,2,starch,30,31,1',
      '4,test,,starch,40,38,-2',
      '5,test,,starch,50,50,0',
    ]);
  });

  it('draws 5,000 predictions, and each of several targets by itself', async (t) => {
    const line = (i: number) => `${i},validation,${i % 5},${i},${i + 1},${i % 2 ? 'oil' : 'water'}`;
    const many = Array.from({ length: 5000 }, (_, i) => line(i)).join('\n');
    const page = await left(t, { predictions: `sample,partition,fold,y,prediction,target\n${many}\n` });
    await plot(page, /water\. cross-validation: 2,500 samples/).waitFor();
    await page.getByRole('button', { name: 'oil' }).click();
    await plot(page, /oil\. cross-validation: 2,500 samples, RMSE 1,/).waitFor();
  });

  it('says so where nothing can be drawn: classes, and files that are something else', async (t) => {
    const classes = 'sample,partition,fold,y,prediction,target\n1,test,,rye,oats,\n';
    const first = await left(t, { predictions: classes, curves: '{"curves": [{"x": 7}]}' });
    await first.getByText('The predictions are no numbers').waitFor();
    assert.equal(await first.getByRole('slider').count(), 0);
    const second = await left(t, { predictions: 'a,b\n1,2\n', curves: 'no JSON' });
    await second.getByText('The predictions could not be read: it has no columns sample').waitFor();
    await second.getByText('The curves could not be read').waitFor();
  });

  it('says nothing of pictures where nothing was measured', async (t) => {
    const text =
      'sample,partition,fold,y,prediction,target\nrye,predicted,,,11.25,starch\n"oats, 2",predicted,,,12,starch\n';
    const page = await left(t, { predictions: text });
    const table = page.getByRole('region', { name: 'Predicted samples' });
    await table.waitFor();
    assert.deepEqual(await table.locator('thead th').allInnerTexts(), ['Sample', 'Predicted starch']);
    assert.deepEqual(await table.locator('tbody tr').allInnerTexts(), ['rye\t11.25', 'oats, 2\t12']);
    assert.equal(await page.getByRole('slider').count(), 0);
    assert.equal(await page.getByText('nothing is drawn').count(), 0);
  });

  for (const look of ['light', 'dark'] as const) {
    it(`can be read by everybody, in ${look} colours and on a phone`, async (t) => {
      const files = { predictions: PREDICTIONS, curves: JSON.stringify(CURVES) };
      const page = await left(t, files, 'tasks', {
        colorScheme: look,
        viewport: { width: 390, height: 844 },
      });
      await plot(page, /^rmse/).waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 390, `the page is ${width} wide`);
    });
  }
});
