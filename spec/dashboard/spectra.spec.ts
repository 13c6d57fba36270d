import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { taskWith } from './task-files.ts';

const PREDICTIONS = `sample,partition,fold,y,prediction,target
1,validation,1,10,11,starch
2,validation,1,20,21,starch
1,test,,40,41,starch
`;
/** Training and test samples may be called alike; of three, the second is not kept. */
const SPECTRA = {
  steps: [],
  samples: { of: 3, names: ['1', '1'], partitions: ['train', 'test'] },
  axis: { unit: 'nm', of: 6, values: [900, 1000, 1100] },
  values: [
    [0.1, 0.2, 0.3],
    [1.1, 1.3, 1.2],
  ],
};
const PREPROCESSED = {
  ...SPECTRA,
  steps: ['snv', 'center'],
  values: [
    [-1, 0, 1],
    [-1.5, 1.5, 0],
  ],
};
const FILES = {
  predictions: PREDICTIONS,
  spectra: JSON.stringify(SPECTRA),
  preprocessed: JSON.stringify(PREPROCESSED),
};

describe('the spectra of a task, on the dashboard', requires('chromium'), () => {
  const open = browserForTests();
  const left = taskWith(open);
  const region = (page: Page) => page.getByRole('region', { name: 'Spectra' });
  const plot = (page: Page) => region(page).getByRole('slider');
  const outstanding = (page: Page) => region(page).locator('.plot-outstanding');

  it('are drawn as they were read, and as the steps of the model made them', async (t) => {
    const page = await left(t, FILES);
    await page.getByRole('slider', { name: 'Spectra as they were read, of 2 samples.' }).waitFor();
    await page.getByText('2 of 3 samples, 3 of 6 columns', { exact: true }).waitFor();
    assert.equal(await region(page).locator('.plot-spectrum').count(), 2);
    await page.getByRole('button', { name: 'Preprocessed' }).click();
    await page.getByRole('slider', { name: 'Spectra after preprocessing, of 2 samples.' }).waitFor();
    await page.getByText('2 of 3 samples, 3 of 6 columns, after snv, center').waitFor();
  });

  it('are named under the pointer with their value, and one after the other by the arrow keys', async (t) => {
    const page = await left(t, FILES);
    await plot(page).focus();
    const words = region(page).locator('.plot-words');
    for (const [key, expected] of [
      ['ArrowRight', 'sample 1 (training), spectrum 1 of 2'],
      ['ArrowRight', 'sample 1 (test), spectrum 2 of 2'],
      ['ArrowRight', 'sample 1 (test), spectrum 2 of 2'],
      ['Home', 'sample 1 (training), spectrum 1 of 2'],
    ] as const) {
      await page.keyboard.press(key);
      assert.equal(await words.textContent(), expected);
      assert.equal(await plot(page).getAttribute('aria-valuetext'), expected);
    }
    // At the end of the line that stands out.
    const line = await outstanding(page).boundingBox();
    await page.mouse.move((line?.x ?? 0) + (line?.width ?? 0) - 1, (line?.y ?? 0) + 2);
    await page.getByText('sample 1 (training): 0.3000 at 1100 nm').waitFor();
  });

  it('stand out by a click on their point, training and test samples of one name apart', async (t) => {
    const page = await left(t, FILES);
    await plot(page).waitFor();
    assert.equal(await outstanding(page).count(), 0);
    const predicted = page.getByRole('slider', { name: /^Predicted against/ });
    await predicted.focus();
    await page.keyboard.press('End');
    const point = await page.locator('.plot-pointed').boundingBox();
    await page.mouse.click(
      (point?.x ?? 0) + (point?.width ?? 0) / 2,
      (point?.y ?? 0) + (point?.height ?? 0) / 2,
    );
    await region(page).getByRole('status').getByText('The spectrum of sample 1 stands out.').waitFor();
    const lines = region(page).locator('.plot-spectrum');
    const shapeOf = (i: number) => lines.nth(i).getAttribute('d');
    assert.equal(await outstanding(page).getAttribute('d'), await shapeOf(1), 'that of the test sample');
    await page.mouse.move(2, 2);
    await predicted.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    const training = await shapeOf(0);
    await page.waitForFunction(
      `document.querySelector('.plot-outstanding')?.getAttribute('d') === ${JSON.stringify(training)}`,
    );
  });

  it('are said to be missing where the sample is not among those that are kept', async (t) => {
    const page = await left(t, FILES);
    await plot(page).waitFor();
    await page.getByRole('slider', { name: /^Predicted against/ }).focus();
    for (const key of ['Home', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
    await page.getByText('The spectrum of sample 2 is not among the 2 of 3 that were kept.').waitFor();
    assert.equal(await outstanding(page).count(), 0);
  });

  it('are saved as SVG, and as CSV with a line for each sample', async (t) => {
    const page = await left(t, { spectra: FILES.spectra }, 'ranking');
    const saved = async (name: string) => {
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name }).click();
      return readFile(await (await coming).path(), 'utf8');
    };
    assert.match(await saved('Save the picture spectra-raw as SVG'), /stroke-opacity="0\.4"/);
    assert.equal(
      await saved('Save the numbers of spectra-raw as CSV'),
      'sample,partition,900,1000,1100\r\n1,train,0.1,0.2,0.3\r\n1,test,1.1,1.3,1.2\r\n',
    );
    assert.equal(await page.getByRole('button', { name: 'Preprocessed' }).count(), 0);
  });

  it('are not drawn from a file that is something else', async (t) => {
    const page = await left(t, { predictions: PREDICTIONS, spectra: '{"values": [[1, 2]]}' });
    await page.getByText('The spectra could not be read: it holds no spectra').waitFor();
    assert.equal(await page.getByRole('slider').count(), 1);
  });

  for (const look of ['light', 'dark'] as const) {
    it(`can be read by everybody, in ${look} colours and on a phone, 200 of them`, async (t) => {
      const many = Array.from({ length: 200 }, (_, i) => i);
      const axis = Array.from({ length: 250 }, (_, j) => 900 + 2 * j);
      const spectra = {
        ...SPECTRA,
        samples: {
          of: 640,
          names: many.map(String),
          partitions: many.map((i) => (i < 150 ? 'train' : 'test')),
        },
        axis: { unit: 'nm', of: 500, values: axis },
        values: many.map((i) => axis.map((x) => Math.sin(x / 60) * (1 + i / 400) + (i < 150 ? 0 : 0.4))),
      };
      const page = await left(t, { ...FILES, spectra: JSON.stringify(spectra) }, 'tasks', {
        colorScheme: look,
        viewport: { width: 390, height: 844 },
      });
      await plot(page).waitFor();
      assert.equal(await region(page).locator('.plot-spectrum').count(), 200);
      assert.deepEqual(await seriousFaults(page), []);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 390, `the page is ${width} wide`);
    });
  }
});
