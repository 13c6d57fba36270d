import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { SHOWN } from '../../gateway/ui/client/model/live-feed.ts';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { browserForTests } from './browser.ts';
import { Hand, pipelines, serverAndHand, submit } from './hands.ts';

/** The console errors of a browser whose server is away. */
const AWAY = /ERR_CONNECTION|WebSocket connection|ERR_EMPTY_RESPONSE|ERR_INTERNET_DISCONNECTED/;

const tile = (page: Page, label: string) => page.locator('.tile', { hasText: label }).locator('.number');
const feedIds = (page: Page): Promise<number[]> =>
  page
    .locator('#feed .event')
    .evaluateAll((rows: { dataset: { event: string } }[]) =>
      rows.map(({ dataset }) => Number(dataset.event)),
    );
const connection = (page: Page, word: string) => page.locator('.connection', { hasText: word }).waitFor();

describe('the cluster on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('is counted, and the numbers are updated by themselves', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url);
    await until('no running job', async () => (await tile(page, 'Running jobs').textContent()) === '0');
    const hand = await Hand.register(server.client, { slots_total: 2 });
    await submit(server.client, pipelines('a', 'b', 'c'));
    await hand.run();
    const wanted = {
      'Running jobs': '1',
      'Tasks in flight': '1',
      'Waiting tasks': '2',
      'Workers alive': '1',
    };
    for (const [label, number] of Object.entries(wanted)) {
      await until(label, async () => (await tile(page, label).textContent()) === number);
    }
  });

  it('shows, where there is a schedule, how old the newest backup is, or why there is none', async (t) => {
    const root = await temporaryDirectory(t);
    const serving = async (to: string) => {
      const server = await startTestServer(t, { backups: { to, every: 3600, keep: 2 } });
      return (await open(server.url)).locator('.backups');
    };
    const made = await serving(join(root, 'backups'));
    await made.getByText(/^Last backup: (now|\d+ s ago), \d+ KiB$/).waitFor();
    writeFileSync(join(root, 'file'), '');
    const failed = await serving(join(root, 'file'));
    await failed.getByText(/^Last backup: never; the last try failed: cannot write to .*file/).waitFor();
    const page = await open((await startTestServer(t)).url);
    await tile(page, 'Running jobs').waitFor();
    assert.equal(await page.locator('.backups').count(), 0);
  });

  it('draws its last hour, and says it in words', async (t) => {
    const { server, hand } = await serverAndHand(t);
    await submit(server.client, pipelines('a', 'b', 'c', 'd'));
    await hand.finish({});
    await hand.finish({});
    await hand.fail(await hand.run(), 'no');
    const page = await open(server.url);
    const throughput = page.getByRole('img', {
      name: 'Tasks a minute over the last hour: 2 succeeded, 1 failed, 4 submitted.',
    });
    await throughput.waitFor();
    await page.getByRole('img', { name: 'Waiting tasks over the last hour: now 1, at most 1.' }).waitFor();
    const drawn = await throughput.locator('canvas').evaluate((canvas: Canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value) => value > 0);
    });
    assert.ok(drawn, 'there is a picture');
  });

  it('lists its workers with slots, labels and version, and flags a version that differs', async (t) => {
    const server = await startTestServer(t);
    const hand = await Hand.register(server.client, {
      name: 'bench',
      slots_total: 4,
      labels: { site: 'lab-a', gpu: 'no' },
    });
    await Hand.register(server.client, { name: 'attic', version: { cluster: '0.0.1', python: '3.11' } });
    await submit(server.client);
    await hand.run();
    const page = await open(server.url, { path: '/ui?view=workers' });
    const bench = page.getByRole('row', { name: /bench/ });
    const attic = page.getByRole('row', { name: /attic/ });
    await bench.getByRole('img', { name: '1 of 4 slots busy' }).waitFor();
    assert.deepEqual(await bench.locator('.chip').allTextContents(), ['site=lab-a', 'gpu=no']);
    assert.equal(await bench.getByText('differs').count(), 0);
    await attic.getByText('0.0.1').waitFor();
    await attic.getByText('differs').waitFor();
    await attic.getByText('python 3.11').waitFor();
    await page.getByRole('searchbox', { name: /Filter workers/ }).fill('lab-a');
    await attic.waitFor({ state: 'detached' });
    assert.equal(await bench.count(), 1);
  });

  it('distinguishes a worker that is draining, one that has stopped and one that fell silent', async (t) => {
    const server = await startTestServer(t, { workerDeadAfter: 2 });
    const heartbeat = ({ id }: Hand, leaving?: 'draining' | 'stopped') =>
      server.client.call('heartbeat', { params: { id }, body: { active: [], ...(leaving && { leaving }) } });
    const names = ['silent', 'stops', 'drains', 'works'] as const;
    const [, stops, drains, works] = await Promise.all(
      names.map((name) => Hand.register(server.client, { name })),
    );
    await heartbeat(stops as Hand, 'stopped');
    const page = await open(server.url);
    const beating = setInterval(() => {
      heartbeat(drains as Hand, 'draining').catch(() => {});
      heartbeat(works as Hand).catch(() => {});
    }, 300);
    t.after(() => clearInterval(beating));
    for (const [name, standing] of [
      ['silent', 'dead'],
      ['stops', 'stopped'],
      ['drains', 'draining'],
      ['works', 'alive'],
    ]) {
      const row = page.getByRole('row', { name: new RegExp(`${name} `) });
      await row.getByText(standing as string, { exact: true }).waitFor();
    }
    await page.locator('.tile', { hasText: 'Workers alive' }).getByText('1 dead, 1 stopped').waitFor();
  });

  it('says why a worker is suspended, and what waits for it', async (t) => {
    const server = await startTestServer(t);
    const hand = await Hand.register(server.client, { name: 'bench' });
    const heartbeat = (suspended?: string) =>
      server.client.call('heartbeat', {
        params: { id: hand.id },
        body: { active: [], ...(suspended && { suspended }) },
      });
    await heartbeat('its disk is full');
    const page = await open(server.url);
    const bench = page.getByRole('row', { name: /bench/ });
    await bench.getByText('its disk is full').waitFor();
    await page.getByRole('searchbox', { name: /Filter workers/ }).fill('suspended');
    await bench.waitFor();
    await heartbeat();
    await bench.waitFor({ state: 'detached' });
  });

  it('streams events, thousands of them without freezing, and pauses on request', async (t) => {
    const { server, hand } = await serverAndHand(t);
    await submit(server.client);
    const task = await hand.run();
    const page = await open(server.url);
    const feed = page.locator('#feed');
    await feed.getByText('task_started').waitFor();
    await page.evaluate(`window.drawings = 0;
      new MutationObserver(() => { window.drawings++; })
        .observe(document.querySelector('#feed .events'), { childList: true });`);
    const flood = (name: string) =>
      Array.from({ length: 1000 }, (_, i) => ({ type: 'note', message: `${name} ${i + 1}` }));
    for (let i = 1; i <= 5; i++) await hand.tell(task, flood(`flood ${i}`));
    await feed.getByText('flood 5 1000').waitFor();
    assert.equal(await feed.locator('.event').count(), SHOWN);
    assert.ok(Number(await page.evaluate('window.drawings')) < 500, 'drawn in batches');

    await feed.getByRole('button', { name: 'Pause' }).click();
    await hand.tell(task, [{ type: 'note', message: 'while paused' }]);
    await feed.getByText('paused, 1 new').waitFor();
    assert.equal(await feed.getByText('while paused').count(), 0);
    await feed.getByRole('button', { name: 'Resume' }).click();
    await feed.getByText('while paused').waitFor();

    await hand.fail(task, 'out of memory');
    await feed.getByRole('combobox', { name: 'Which events' }).selectOption('problems');
    await feed.getByText('flood').first().waitFor({ state: 'detached' });
    await feed.locator('.event.is-error').first().waitFor();
  });

  it('reconnects by itself, and shows every event that it missed, once', async (t) => {
    const server = await startTestServer(t, { port: await quietPort() });
    await submit(server.client, { name: 'before' });
    const page = await open(server.url, { expected: AWAY });
    await connection(page, 'Live');
    await page.locator('#feed').getByText('job before submitted').waitFor();

    await server.stop();
    await connection(page, 'Offline');
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.context().setOffline(true);
    const again = await startTestServer(t, { state: server.stateDir, port: server.port });
    // More than the stream would repeat without being told where to go on.
    for (let i = 1; i <= 230; i++) await submit(again.client, { name: `meanwhile ${i}` });
    await page.context().setOffline(false);
    await connection(page, 'Live');
    await page.locator('#feed').getByText('job meanwhile 230 submitted').waitFor();
    const shown = await feedIds(page);
    const last = shown[0] as number;
    assert.deepEqual(
      shown,
      Array.from({ length: shown.length }, (_, i) => last - i),
      'none missed, none doubled',
    );
    assert.ok(shown.length > 230);
    await page.locator('#jobs').getByText('meanwhile 230').waitFor();
  });

  it('says when another version serves the page than the one that made it', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url);
    await connection(page, 'Live');
    await page.route('**/v1/stats', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), 'x-cluster-version': '9.9.9' } });
    });
    await page.getByText('another version now').waitFor();
  });
});

/** What a test needs of a canvas. */
interface Canvas {
  width: number;
  height: number;
  getContext(kind: '2d'): {
    getImageData(x: number, y: number, width: number, height: number): { data: Uint8ClampedArray };
  };
}
