import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { Hand, job, pipelines, serverAndHand, submit } from './hands.ts';

interface MachineView {
  name: string;
  chart: {
    states: { id: string; key: string; parent: string | null }[];
    arrows: { from: string; to: string; event: string; guard: string | null; actions: string[] }[];
  };
  counts: Record<string, number>;
}

const state = (page: Page, id: string) => page.locator(`svg.chart [data-state="${id}"]`);
/** The text of some elements, spaces as one. */
const words = async (page: Page, selector: string): Promise<string[]> =>
  (await page.locator(selector).allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim());
const litStates = (page: Page): Promise<string[]> =>
  page
    .locator('svg.chart [data-lit="true"]')
    .evaluateAll((all: { dataset: { state: string } }[]) => all.map(({ dataset }) => dataset.state));
const travelled = (page: Page): Promise<string[]> =>
  page
    .locator('svg.chart [data-travelled="true"]')
    .evaluateAll((all: { dataset: { from: string; to: string } }[]) =>
      all.map(({ dataset: { from, to } }) => `${from} → ${to}`),
    );
const steps = (page: Page): Promise<string[]> =>
  page
    .locator('[data-step]')
    .evaluateAll((all: { dataset: { step: string } }[]) => all.map(({ dataset }) => dataset.step));
const tells = (page: Page, ...path: string[]) =>
  until(`the path ${path}`, async () => (await steps(page)).join() === path.join());
const counted = (page: Page, id: string) => state(page, id).locator('.inside').textContent();

describe('the statecharts on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('are reached by the navigation and turned by keyboard, and Back leads back', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url);
    await page.getByRole('link', { name: 'Statecharts' }).click();
    await page.getByRole('tab', { name: 'job', selected: true }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('img', { name: 'Statechart of the task' }).waitFor();
    assert.equal(new URL(page.url()).search, '?view=statecharts&machine=task');
    await page.keyboard.press('End');
    await page.getByRole('img', { name: 'Statechart of the reign' }).waitFor();
    await page.goBack();
    await page.getByRole('img', { name: 'Statechart of the task' }).waitFor();
    await page.getByRole('link', { name: 'Workers' }).click();
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    assert.equal(await page.locator('svg.chart').count(), 0);
  });

  it('draw every state within the one that holds it, and every arrow with its event, guard and actions', async (t) => {
    const server = await startTestServer(t);
    const machines = (await (await fetch(`${server.url}/v1/machines`)).json()) as MachineView[];
    assert.deepEqual(
      machines.map(({ name }) => name),
      [...MACHINE_NAMES],
    );
    const page = await open(server.url, { path: '/ui?view=statecharts' });
    for (const { name, chart } of machines) {
      await page.getByRole('tab', { name, exact: true }).click();
      await page.getByRole('img', { name: `Statechart of the ${name}` }).waitFor();
      const plain = await page.locator('svg.chart').getAttribute('viewBox');
      await page.getByRole('button', { name: 'Guards and actions' }).click();
      await until('a picture with room for them', async () => {
        return (await page.locator('svg.chart').getAttribute('viewBox')) !== plain;
      });
      const boxes = new Map(await boxesOf(page));
      assert.deepEqual([...boxes.keys()].sort(), chart.states.map(({ id }) => id).sort(), name);
      for (const { id, key, parent } of chart.states) {
        assert.equal(await state(page, id).locator('.key').textContent(), key);
        if (parent !== null) assert.ok(isWithin(boxes.get(id), boxes.get(parent)), `${id} in ${parent}`);
      }
      const drawn = await drawnArrows(page);
      for (const { from, to, event, guard, actions } of chart.arrows) {
        const label = guard === null ? event : `${event} [${guard}]`;
        const among =
          from === to ? await words(page, `[data-state="${from}"] > .staying`) : drawn.get(`${from} ${to}`);
        const text = among?.join(' ').replaceAll(' ↺', '') ?? '';
        for (const word of [label, ...actions])
          assert.ok(text.includes(word), `${name}: ${from} → ${to} ${word} among ${among}`);
      }
      const pairs = new Set(
        chart.arrows.filter(({ from, to }) => from !== to).map(({ from, to }) => `${from} ${to}`),
      );
      assert.deepEqual([...drawn.keys()].sort(), [...pairs].sort(), `${name} has no arrow too many`);
    }
  });

  it('describe the same in words', async (t) => {
    const server = await startTestServer(t);
    await submit(server.client);
    const page = await open(server.url, { path: '/ui?view=statecharts&machine=task' });
    await page.getByText('States and arrows as a list').click();
    const row = page.locator('[data-row="task.leased"]');
    await row.getByText('FAIL [isTriedAgain]').waitFor();
    assert.match((await row.textContent()) ?? '', /UNDELIVERED to queued/);
    await until('the count', async () => (await words(page, '[data-row="task.queued"] td.right'))[0] === '1');
  });

  it('count the actors in each state, and follow a job as it changes', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url, { path: '/ui?view=statecharts&machine=job' });
    const counts = (wanted: Record<string, string>) =>
      until(JSON.stringify(wanted), async () => {
        for (const [id, number] of Object.entries(wanted)) {
          if ((await counted(page, id)) !== number) return false;
        }
        return true;
      });
    await state(page, 'job.queued').waitFor();
    await submit(server.client);
    await counts({ 'job.queued': '1', 'job.running': '0' });
    const hand = await Hand.register(server.client);
    const task = await hand.run();
    await counts({ 'job.queued': '0', 'job.running': '1' });
    await page.getByRole('tab', { name: 'task', exact: true }).click();
    await counts({ 'task.running': '1', 'task.running.executing': '1' });
    await hand.complete(task);
    await counts({ 'task.running': '0', 'task.succeeded': '1' });
  });

  it('highlight the state of a task chosen from its row, and show the path that led there', async (t) => {
    const { server, hand } = await serverAndHand(t);
    const { id } = await submit(server.client, { name: '<img src=x onerror=alert(1)>' });
    await hand.fail(await hand.run(), 'no luck', true);
    const task = await hand.run();
    await hand.print(task, 'words that move nothing');
    const page = await open(server.url, { path: `/ui?job=${id}&tab=tasks` });
    await page.getByRole('button', { name: /^Log and details of task/ }).click();
    await page.getByRole('button', { name: /^Statechart of task/ }).click();
    await page.getByRole('img', { name: 'the chosen one is in running.executing' }).waitFor();
    assert.deepEqual(await litStates(page), ['task.running', 'task.running.executing']);
    const once = ['task_requeued', 'task_started', 'task_leased'];
    await tells(page, 'task_started', 'task_leased', ...once);
    assert.deepEqual((await travelled(page)).sort(), [
      'task.leased → task.running',
      'task.queued → task.leased',
      'task.running.executing → task.queued',
    ]);
    await page.reload();
    await page.getByRole('img', { name: 'the chosen one is in running.executing' }).waitFor();

    await server.client.call('cancelJob', { params: { id }, body: {} });
    await page.getByRole('img', { name: 'the chosen one is in running.stopping' }).waitFor();
    await hand.complete(task);
    await page.getByRole('img', { name: 'the chosen one is in cancelled' }).waitFor();
    await until('the last step', async () => (await steps(page))[0] === 'task_cancelled');
  });

  it('find the path of a task however much it has printed since', async (t) => {
    const { server, hand } = await serverAndHand(t);
    await submit(server.client);
    const task = await hand.run();
    const line = { type: 'log' as const, level: 'info' as const, message: 'fold' };
    for (let i = 0; i < 3; i++) await hand.tell(task, Array(500).fill(line));
    const page = await open(server.url, {
      path: `/ui?view=statecharts&machine=task&actor=${task.task_id}&of=${task.job_id}`,
    });
    await page.getByRole('img', { name: 'the chosen one is in running.executing' }).waitFor();
    await tells(page, 'task_started', 'task_leased');
  });

  it('highlight the state of a job chosen from its row, and follow it to its end', async (t) => {
    const server = await startTestServer(t);
    const { id } = await submit(server.client, { name: 'lit' });
    const page = await open(server.url, { path: `/ui?job=${id}` });
    await page.getByRole('button', { name: 'Statechart of job lit' }).click();
    await page.getByRole('img', { name: 'the chosen one is in queued' }).waitFor();
    const hand = await Hand.register(server.client);
    await hand.finish({});
    await page.getByRole('img', { name: 'the chosen one is in succeeded' }).waitFor();
    await tells(page, 'task_completed', 'task_started', 'task_leased', 'job_submitted');
    assert.deepEqual((await travelled(page)).sort(), [
      'job.queued.ready → job.running.computing',
      'job.running.computing → job.succeeded',
    ]);
    await page.getByRole('button', { name: 'Choose none' }).click();
    await until('nothing lit', async () => (await litStates(page)).length === 0);
  });

  it('highlight the state of a worker chosen from its row, by its free slots', async (t) => {
    const server = await startTestServer(t);
    const hand = await Hand.register(server.client, { name: 'bench', slots_total: 2 });
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Statechart of worker bench' }).click();
    await page.getByRole('img', { name: 'the chosen one is in alive.idle' }).waitFor();
    await tells(page, 'worker_registered');
    await submit(server.client, pipelines('a', 'b'));
    await hand.run();
    await page.getByRole('img', { name: 'the chosen one is in alive.busy' }).waitFor();
    await hand.run();
    await page.getByRole('img', { name: 'the chosen one is in alive.full' }).waitFor();
    assert.deepEqual(await litStates(page), ['worker.alive', 'worker.alive.full']);
  });

  it('explain why nothing is highlighted where the chosen actor is unknown', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url, {
      path: '/ui?view=statecharts&machine=job&actor=job_nobody',
      expected: /404/,
    });
    await page.getByRole('alert').first().waitFor();
    assert.deepEqual(await litStates(page), []);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`have no serious fault for axe, ${colorScheme}`, async (t) => {
      const { server, hand } = await serverAndHand(t);
      await submit(server.client, job(pipelines('a', 'b')));
      const task = await hand.run();
      const page = await open(server.url, { colorScheme, path: '/ui?view=statecharts' });
      for (const name of MACHINE_NAMES) {
        await page.getByRole('tab', { name, exact: true }).click();
        await page.getByRole('img', { name: `Statechart of the ${name}` }).waitFor();
        await page.getByText('States and arrows as a list').click();
        assert.deepEqual(await seriousFaults(page), [], name);
      }
      await page.goto(
        `${server.url}/ui?view=statecharts&machine=task&actor=${task.task_id}&of=${task.job_id}`,
      );
      await page.getByRole('img', { name: 'the chosen one is in running.executing' }).waitFor();
      assert.deepEqual(await seriousFaults(page), [], 'a chosen task');
    });
  }

  it('scroll within their frame on a phone, with the highlighted state in sight', async (t) => {
    const { server, hand } = await serverAndHand(t);
    await submit(server.client);
    const task = await hand.run();
    const page = await open(server.url, {
      path: `/ui?view=statecharts&machine=task&actor=${task.task_id}&of=${task.job_id}`,
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await page.getByRole('img', { name: 'the chosen one is in running.executing' }).waitFor();
    const sideways = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    assert.equal(await page.evaluate(sideways), 0);
    await until('the lit state in sight', async () => {
      const box = await state(page, 'task.running.executing').boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= 390;
    });
    await page.getByRole('button', { name: 'Fit', exact: true }).tap();
    await until('all of it in sight', async () => {
      const box = await page.locator('svg.chart').boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= 390;
    });
  });
});

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const isWithin = (inner: Box | undefined, outer: Box | undefined): boolean =>
  inner !== undefined &&
  outer !== undefined &&
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const boxesOf = (page: Page): Promise<[string, Box][]> =>
  page.locator('svg.chart [data-state]').evaluateAll((all: Drawn[]) =>
    all.map((one): [string, Box] => {
      const { x, y, width, height } = one.querySelector('.outline').getBoundingClientRect();
      return [one.dataset.state, { x, y, width, height }];
    }),
  );

interface Drawn {
  dataset: Record<string, string> & { state: string };
  querySelector(selector: string): { getBoundingClientRect(): Box };
}

/** The labels of the arrows, by the states that they connect; only of arrows that have a line. */
async function drawnArrows(page: Page): Promise<Map<string, string[]>> {
  const lines = await page
    .locator('svg.chart path.arrow')
    .evaluateAll((all: { dataset: { from: string; to: string }; getTotalLength(): number }[]) =>
      all.filter((one) => one.getTotalLength() > 4).map(({ dataset: { from, to } }) => [from, to] as const),
    );
  const arrows = new Map<string, string[]>();
  for (const [from, to] of lines) {
    arrows.set(
      `${from} ${to}`,
      await words(page, `svg.chart .labels[data-from="${from}"][data-to="${to}"] text`),
    );
  }
  return arrows;
}
