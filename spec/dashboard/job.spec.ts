import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { browserForTests } from './browser.ts';
import { Hand, jobAndHand, pipelines, submit } from './hands.ts';

const tab = (page: Page, name: string) => page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();

/** What the cells of a table's body say, row by row. */
const cells = async (page: Page, label: string) => {
  const rows = await page.getByRole('region', { name: label }).locator('tbody tr').all();
  return Promise.all(rows.map((row) => row.locator('th, td').allTextContents()));
};

describe('an open job on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('ranks its tasks, best first, by the metric that the job asked for', async (t) => {
    const server = await startTestServer(t);
    await submit(server.client, {
      name: 'ranked',
      ...pipelines('pls', 'snv', 'msc'),
      rank_metric: 'best_r2',
      rank_mode: 'max',
    });
    const hand = await Hand.register(server.client);
    await hand.finish({ best_rmse: 0.3, best_r2: 0.91 });
    await hand.finish({ best_rmse: 0.21, best_r2: 0.97 });
    await hand.finish({ best_rmse: 0.25, best_r2: 0.95 });
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of ranked' }).click();
    await page.getByRole('region', { name: 'Ranking' }).waitFor();
    const heads = await page.getByRole('region', { name: 'Ranking' }).locator('thead th').allTextContents();
    assert.deepEqual(heads, ['Rank', 'Pipeline', 'Dataset', 'best_r2', 'best_rmse', 'Task']);
    assert.deepEqual(
      (await cells(page, 'Ranking')).map((row) => row.slice(0, 5)),
      [
        ['1', 'snv', 'corn', '0.9700', '0.2100'],
        ['2', 'msc', 'corn', '0.9500', '0.2500'],
        ['3', 'pls', 'corn', '0.9100', '0.3000'],
      ],
    );
  });

  it('says how long it has taken, and while it runs, how long it will still take', async (t) => {
    const { server, hand } = await jobAndHand(t, { name: 'timed', ...pipelines('pls', 'snv', 'msc') });
    await hand.finish({ best_rmse: 0.3 });
    const task = await hand.run();
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of timed' }).click();
    const fact = (name: string) => page.locator('.facts > div').filter({ hasText: new RegExp(`^${name}`) });
    // Tasks of a moment are over before they are expected to be.
    await fact('Expected').getByText('takes longer than expected').waitFor();
    await fact('Elapsed')
      .getByText(/^\d+ s$/)
      .waitFor();
    await hand.complete(task, { metrics: { best_rmse: 0.2 } });
    await hand.finish({ best_rmse: 0.3 });
    await fact('Took').waitFor();
    assert.equal(await fact('Expected').count(), 0);
  });

  it('says in which phase it is, and which variant was selected by what', async (t) => {
    const { server, hand } = await jobAndHand(t, {
      name: 'selecting',
      ...pipelines('pls', 'snv'),
      select: {},
    });
    await hand.finish({ cv_rmse: 0.3 });
    await hand.finish({ cv_rmse: 0.21 });
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of selecting' }).click();
    await page.getByText('snv by cv_rmse 0.21, which is being refitted').waitFor();
    await hand.finish({ cv_rmse: 0.21 });
    await page.getByText('snv by cv_rmse 0.21, refitted').waitFor();
  });

  it('says from which task a reused result comes', async (t) => {
    const server = await startTestServer(t);
    const known = {
      pipeline: { kind: 'inline_json' as const, inline: ['snv'], name: 'snv' },
      dataset: { kind: 'catalog' as const, catalog_id: 'corn@1', sha256: 'a'.repeat(64) },
    };
    const first = await submit(server.client, { name: 'first', ...known });
    const hand = await Hand.register(server.client);
    const task = await hand.run();
    await hand.complete(task, { metrics: { best_rmse: 0.3 }, ...{ demo_version: '1.0' } });
    await submit(server.client, { name: 'again', ...known, reuse: true });
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of again' }).click();
    const row = page.getByRole('region', { name: 'Ranking' }).locator('tbody tr').first();
    const from = row.locator('.reused');
    await from.waitFor();
    assert.match(`${await from.textContent()}`, /^reused from .+ of .+$/);
    assert.deepEqual(
      await from.locator('code').evaluateAll((ids) => ids.map((id) => id.getAttribute('title'))),
      [task.task_id, first.id],
    );
    await page.getByText('1 of 1 tasks', { exact: true }).waitFor();
  });

  it('asks for no more tasks of a huge job than it shows: the first ones, then portions, or those in one state', async (t) => {
    const server = await startTestServer(t);
    const many = Array.from({ length: 5_001 }, (_, i) => `p${i + 1}`);
    const job = await submit(server.client, { name: 'huge', ...pipelines(...many) });
    const hand = await Hand.register(server.client);
    await hand.finish({ best_rmse: 1 });
    const page = await open(server.url);
    const asked: number[] = [];
    page.on('response', async (answer) => {
      if (!/\/(tasks|artifacts)/.test(answer.url())) return;
      // Of an answer that is on its way when the page goes there is no body.
      const listed = (await answer.json().catch(() => [])) as unknown[];
      asked.push(listed.length);
    });
    await page.goto(`${server.url}/ui?job=${job.id}&tab=tasks`);
    const rows = page.locator('tr[data-task]');
    await rows.first().waitFor();
    assert.equal(await rows.count(), 50);
    await page.getByText('50 of 5,001').waitFor();
    await page.getByRole('button', { name: 'Show 200 more' }).click();
    await until('a portion more', async () => (await rows.count()) === 250);
    await page.getByRole('button', { name: /^succeeded 1/ }).click();
    await until('the one that succeeded', async () => (await rows.count()) === 1);
    assert.ok(Math.max(...asked) <= 251, `${Math.max(...asked)} came at once`);
  });

  it('says why each queued task waits', async (t) => {
    const server = await startTestServer(t);
    await Hand.register(server.client, { labels: { site: 'lab-a' } });
    const busy = await Hand.register(server.client, { labels: { site: 'lab-b' } });
    await submit(server.client, { requirements: { labels: { site: 'lab-b' } } });
    await busy.run();
    const wrong = await submit(server.client, { requirements: { labels: { site: 'lab-z' } } });
    const full = await submit(server.client, { requirements: { labels: { site: 'lab-b' } } });
    const page = await open(server.url, { path: `/ui?job=${wrong.id}` });
    await page.getByText('Needs labels.site=lab-z, which 2 live workers lack.').waitFor();
    await page
      .getByRole('button', { name: /Details of unnamed|Details of job_/ })
      .first()
      .waitFor();
    await page.locator(`tr[data-job="${full.id}"] .opener`).click();
    await page.getByText('All slots of 1 matching worker are taken.').waitFor();
    await busy.finish({}).catch(() => {});
  });

  it('says what went wrong, task by task', async (t) => {
    const { server, hand } = await jobAndHand(t, { name: 'broken', ...pipelines('a', 'b') });
    await hand.fail(await hand.run(), 'the file /data/corn/train_y.csv\ndoes not exist');
    await hand.fail(await hand.run(), 'exit code 137');
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of broken' }).click();
    await page.locator('.errors pre').nth(1).waitFor();
    assert.deepEqual(await page.locator('.errors pre').allTextContents(), [
      'the file /data/corn/train_y.csv\ndoes not exist',
      'exit code 137',
    ]);
  });

  it('shows in amber that it succeeded with failed tasks, and lists the warnings', async (t) => {
    const { server, job, hand } = await jobAndHand(t, {
      name: 'mixed',
      ...pipelines('a', 'b', 'c'),
      retires: 1,
    });
    const left = '3 samples left out: no value of moisture';
    for (const warnings of [[left, 'constant column 7'], [left]]) {
      const extra = { warnings };
      await hand.complete(await hand.run(), { metrics: { best_rmse: 1 }, extra });
    }
    const page = await open(server.url, { path: `/ui?job=${job.id}` });
    const row = page.locator(`tr[data-job="${job.id}"]`);
    await row.getByText('running', { exact: true }).waitFor();
    await hand.fail(await hand.run(), 'singular matrix');
    const standing = row.getByText('succeeded, 1 failed');
    await standing.waitFor();
    const colour = (name: string) =>
      page.evaluate(`(() => {
        const probe = document.createElement('i');
        probe.style.color = 'var(${name})';
        document.body.append(probe);
        return getComputedStyle(probe).color;
      })()`);
    const shown = await standing.evaluate(
      'getComputedStyle(document.querySelector(".status.is-partly")).color',
    );
    assert.equal(shown, await colour('--cancelling'));
    assert.notEqual(shown, await colour('--succeeded'));
    await row.getByRole('img', { name: '3 tasks: 2 succeeded, 1 failed' }).waitFor();
    await row.getByText('1 warning').waitFor({ state: 'attached' });
    const warnings = page.locator('.panel > .warning li');
    await warnings.nth(2).waitFor();
    assert.deepEqual(await warnings.allTextContents(), [
      "unknown field 'retires', did you mean 'retry'?",
      `${left} (2 tasks)`,
      'constant column 7 (1 task)',
    ]);
  });

  it('shows its recent events, earlier ones on demand, and new ones as they come', async (t) => {
    const { server, job, hand } = await jobAndHand(t, { name: 'talkative' });
    const task = await hand.run();
    const notes = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, i) => ({ type: 'note', message: `note ${from + i}` }));
    await hand.tell(task, notes(1, 250));
    const page = await open(server.url, { path: `/ui?job=${job.id}&tab=events` });
    const events = page.getByRole('region', { name: 'Events of the job' });
    const messages = () => events.locator('.event-message').allTextContents();
    await events.getByText('note 250').waitFor();
    assert.equal((await messages()).length, 100, 'the last ones come first');
    await events.getByRole('button', { name: 'Earlier events' }).click();
    await events.getByText('note 60', { exact: true }).waitFor();
    await hand.tell(task, notes(251, 253));
    await events.getByText('note 253').waitFor();
    const seen = (await messages()).filter((message) => message.startsWith('note'));
    assert.deepEqual(
      seen,
      notes(51, 253)
        .map(({ message }) => message)
        .toReversed(),
      'each once, in order',
    );
  });

  it('shows the specification as it was submitted, its numbers as written', async (t) => {
    const server = await startTestServer(t);
    const text =
      '{"type":"demo.run","name":"exact","pipeline":{"kind":"path","path":"p.yaml"},' +
      '"dataset":{"kind":"shared_path","path":"/d"},"params":{"z":1.0,"a":1e-3,"n":12345678901234567890}}';
    await server.client.callText('submitJob', { text });
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of exact' }).click();
    await tab(page, 'Specification');
    const shown = await page.locator('.document pre').textContent();
    assert.match(shown ?? '', /^params: \{ z: 1\.0, a: 1e-3, n: 12345678901234567890 \}$/m);
  });

  it('opens from the live feed and by its address, on whatever page of the list it is', async (t) => {
    const server = await startTestServer(t);
    const first = await submit(server.client, { name: 'long ago' });
    for (let i = 0; i < 60; i++) await submit(server.client, { name: 'filler' });
    const page = await open(server.url, { path: `/ui?job=${first.id}` });
    await page.getByText('Not on this page of the list').waitFor();
    await page.getByRole('button', { name: 'Details of long ago' }).click();
    await page.getByText('Not on this page of the list').waitFor({ state: 'detached' });
    await page.locator('#feed').getByTitle(`Open ${first.id}`).click();
    await page.getByRole('button', { name: 'Details of long ago' }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('job'), first.id);
  });

  it('says so when there is no job of that id', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url, { path: '/ui?job=job_none', expected: /404/ });
    await page.getByRole('alert').getByText('job_none').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });
});
