import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { submit } from './hands.ts';

const state = (page: Page, id: string) => page.locator(`svg.chart [data-state="${id}"]`);
const frame = (page: Page, name: string) => page.getByRole('region', { name: `Statechart of the ${name}` });
const picture = (page: Page) => page.locator('svg.chart');
const drawn = (page: Page): Promise<string[]> =>
  page
    .locator('svg.chart [data-state]')
    .evaluateAll((all: { dataset: { state: string } }[]) => all.map(({ dataset }) => dataset.state));

async function boxOf(page: Page, selector: string) {
  const box = await page.locator(selector).boundingBox();
  assert.ok(box, selector);
  return box;
}

/** Percent of the full size. */
const sizeOf = async (page: Page): Promise<number> =>
  Number.parseInt((await page.getByLabel('Size', { exact: true }).textContent()) ?? '', 10);

const scrolled = (page: Page): Promise<{ left: number; top: number }> =>
  page
    .locator('.chart-frame')
    .evaluate(({ scrollLeft, scrollTop }: { scrollLeft: number; scrollTop: number }) => ({
      left: scrollLeft,
      top: scrollTop,
    }));

describe('the picture of a statechart', requires('chromium'), () => {
  const open = browserForTests();

  async function show(t: Parameters<typeof startTestServer>[0], machine: string, visit = {}) {
    const server = await startTestServer(t);
    const page = await open(server.url, { path: `/ui?view=statecharts&machine=${machine}`, ...visit });
    await page.getByRole('img', { name: `Statechart of the ${machine}` }).waitFor();
    return { server, page };
  }

  it('begins with all of it at a glance, and shows the letters at their size on demand', async (t) => {
    const { page } = await show(t, 'agent');
    const inSight = async () => {
      const [inner, outer] = [await boxOf(page, 'svg.chart'), await boxOf(page, '.chart-frame')];
      return (
        inner.x >= outer.x &&
        inner.y >= outer.y &&
        inner.x + inner.width <= outer.x + outer.width + 1 &&
        inner.y + inner.height <= outer.y + outer.height + 1
      );
    };
    await until('all of it in sight', inSight);
    await page.getByRole('button', { name: '1:1' }).click();
    await until('its full size', async () => (await sizeOf(page)) === 100);
    const full = (await picture(page).getAttribute('viewBox'))?.split(' ').map(Number);
    assert.equal((await boxOf(page, 'svg.chart')).width, full?.[2]);
    assert.equal(await inSight(), false);
    await page.getByRole('button', { name: 'Fit', exact: true }).click();
    await until('all of it again', inSight);
  });

  it('changes its size by keys and scrolls by them', async (t) => {
    const { page } = await show(t, 'agent');
    await frame(page, 'agent').focus();
    const least = await sizeOf(page);
    await page.keyboard.press('+');
    await until('larger', async () => (await sizeOf(page)) > least);
    await page.keyboard.press('-');
    await until('as before', async () => (await sizeOf(page)) === least);
    await page.keyboard.press('1');
    await until('full size', async () => (await sizeOf(page)) === 100);
    const before = await scrolled(page);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await until('scrolled', async () => {
      const now = await scrolled(page);
      return now.left > before.left && now.top > before.top;
    });
    await page.keyboard.press('0');
    await until('all of it', async () => (await sizeOf(page)) === least);
  });

  it('is dragged by the mouse, scrolled by the wheel, and resized by the wheel with Ctrl around the pointer', async (t) => {
    const { page } = await show(t, 'agent');
    await page.getByRole('button', { name: '1:1' }).click();
    const outer = await boxOf(page, '.chart-frame');
    const [x, y] = [outer.x + outer.width / 2, outer.y + outer.height / 2];
    const before = await scrolled(page);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 120, y - 80, { steps: 4 });
    await page.mouse.up();
    await until('dragged', async () => {
      const now = await scrolled(page);
      return Math.abs(now.left - before.left - 120) < 2 && Math.abs(now.top - before.top - 80) < 2;
    });
    assert.equal(await page.locator('.is-chosen').count(), 0, 'what was dragged was not pressed');
    const top = (await scrolled(page)).top;
    await page.mouse.wheel(0, 100);
    await until('scrolled', async () => (await scrolled(page)).top > top);

    const held = state(page, 'agent.active.duty.serving.resting');
    await held.scrollIntoViewIfNeeded();
    const at = await held.boundingBox();
    assert.ok(at);
    await page.mouse.move(at.x, at.y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -40);
    await page.keyboard.up('Control');
    await until('larger', async () => (await sizeOf(page)) > 120);
    const after = await held.boundingBox();
    assert.ok(
      after && Math.abs(after.x - at.x) < 3 && Math.abs(after.y - at.y) < 3,
      'the pointer is where it was',
    );
  });

  it('is resized by two fingers on a phone, and scrolled by one', async (t) => {
    const { page } = await show(t, 'task', {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const outer = await boxOf(page, '.chart-frame');
    const [x, y] = [outer.x + outer.width / 2, outer.y + 150];
    const before = await sizeOf(page);
    const touch = await page.context().newCDPSession(page);
    const fingers = (type: 'touchStart' | 'touchMove' | 'touchEnd', apart: number) =>
      touch.send('Input.dispatchTouchEvent', {
        type,
        touchPoints:
          type === 'touchEnd'
            ? []
            : [
                { x: x - apart, y, id: 1 },
                { x: x + apart, y, id: 2 },
              ],
      });
    await fingers('touchStart', 30);
    for (const apart of [40, 60, 80, 90]) await fingers('touchMove', apart);
    await fingers('touchEnd', 0);
    await until('larger', async () => (await sizeOf(page)) > before * 1.5);
    assert.equal(await page.evaluate('visualViewport.scale'), 1, 'the page kept its size');
  });

  it('closes states and opens them, with their arrows led to what stands for them and their counts kept', async (t) => {
    const { server, page } = await show(t, 'job');
    await submit(server.client);
    const toggle = page.getByRole('button', { name: 'Inside of running' });
    assert.equal(await toggle.getAttribute('aria-expanded'), 'true');
    await toggle.focus();
    await page.keyboard.press('Enter');
    await until('closed', async () => !(await drawn(page)).includes('job.running.computing'));
    assert.equal(await toggle.getAttribute('aria-expanded'), 'false');
    const lines = page.locator('svg.chart path.arrow[data-from="job.running"][data-to="job.succeeded"]');
    assert.equal(await lines.count(), 1);
    await page.getByRole('button', { name: 'Close all' }).click();
    await until('all closed', async () => (await drawn(page)).every((id) => id.split('.').length <= 2));
    await until(
      'counted',
      async () => (await state(page, 'job.queued').locator('.inside').textContent()) === '1',
    );
    await page.getByRole('button', { name: 'Open all' }).click();
    await until('open', async () => (await drawn(page)).includes('job.running.computing'));
  });

  it('is searched for states, events, guards and actions of all machines, by keyboard too', async (t) => {
    const { page } = await show(t, 'job');
    await page.getByRole('button', { name: 'Close all' }).click();
    const field = page.getByRole('searchbox', { name: 'Find in the charts' });
    await field.fill('exploring');
    await page.getByRole('status').filter({ hasText: 'found' }).waitFor();
    await field.press('Enter');
    await until('opened and chosen', async () => (await drawn(page)).includes('job.running.exploring'));
    assert.match((await state(page, 'job.running.exploring').getAttribute('class')) ?? '', /is-chosen/);
    await page.getByRole('region', { name: 'Guards and actions' }).getByText('emitUnselected').waitFor();

    await field.fill('chargeFailure');
    await page
      .getByRole('button', { name: /^task FAIL .* by chargeFailure/ })
      .first()
      .click();
    await page.getByRole('img', { name: 'Statechart of the task' }).waitFor();
    const details = page.getByRole('region', { name: 'Guards and actions' });
    await details.getByText('isTriedAgain').waitFor();
    assert.match((await details.textContent()) ?? '', /keepReport, keepError, emitFailed, chargeFailure/);
    await field.fill('no such thing');
    await page.getByText('Nothing of that name.').waitFor();
  });

  it('tells guards and actions of what is pressed, and of a state what it does when it is entered and left', async (t) => {
    const { page } = await show(t, 'task');
    const details = page.getByRole('region', { name: 'Guards and actions' });
    await page.locator('svg.chart .labels[data-from="task.lost"][data-to="task.queued"]').click();
    await details.getByText('attemptsRemain').waitFor();
    await state(page, 'task.running.stopping').click();
    await details.getByText('endLease, emitCancelled').waitFor();
    assert.match((await details.textContent()) ?? '', /on exit/);
    await details.getByRole('button', { name: 'Close the details' }).click();
    assert.equal(await page.locator('.is-chosen').count(), 0);
    await page.getByText('States and arrows as a list').click();
    await page.getByRole('button', { name: 'Show lost in the chart' }).click();
    await details.getByText('on entry').waitFor();
    assert.deepEqual(await seriousFaults(page), []);
  });
});
