import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { JobView } from '../../machines/schema/views.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { Hand, jobAndHand, pipelines, serverAndHand, submit } from './hands.ts';

const rowOf = (page: Page, { id }: JobView) => page.locator(`tr[data-job="${id}"]`);
const names = (page: Page) => page.locator('#jobs .jobs .name').allTextContents();
/** Waits until the table shows exactly these names, in this order. */
const shows = (page: Page, ...wanted: string[]) =>
  until(`the names ${wanted}`, async () => JSON.stringify(await names(page)) === JSON.stringify(wanted));
const search = (page: Page) => new URL(page.url()).searchParams;

describe('the jobs on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('are shown by their names, however those are written, and nothing in them runs', async (t) => {
    const server = await startTestServer(t);
    const hostile = [
      '<img src=x onerror="document.title=\'run\'">',
      '</script><script>document.title="run"</script>',
    ];
    for (const name of hostile) {
      await submit(server.client, {
        name,
        dataset: { kind: 'shared_path', path: '/x', name: `${name} data` },
        requirements: { labels: { [name]: name } },
        [name]: 1,
      });
    }
    await Hand.register(server.client, {
      name: `${hostile[0]} worker`,
      labels: { note: hostile[1] as string },
    });
    const page = await open(server.url);
    await page.getByText(`${hostile[0]} worker`, { exact: true }).waitFor();
    await shows(page, ...hostile.toReversed());
    for (const name of hostile) {
      await page.getByRole('button', { name: `Details of ${name}` }).click();
      await page.getByRole('tab', { name: 'Tasks' }).click();
      await page.getByText(`${name} data`, { exact: true }).waitFor();
      await page.locator('.chip', { hasText: `labels.${name}` }).waitFor();
      await page.getByRole('tab', { name: 'Specification' }).click();
      await page.locator('.document pre').filter({ hasText: '/x' }).waitFor();
    }
    await page
      .locator('#feed .event-message', { hasText: hostile[0] as string })
      .first()
      .waitFor();
    assert.equal(await page.title(), 'jq-cluster');
    assert.equal(await page.locator('img, #app script').count(), 0);
  });

  it('are filtered by status and name, and the address keeps the filter', async (t) => {
    const { server, hand } = await serverAndHand(t);
    await submit(server.client, { name: 'corn 50%' });
    await hand.finish({ best_rmse: 1 });
    await submit(server.client, { name: 'corn 500' });
    await submit(server.client, { name: 'Wheat' });
    const page = await open(server.url);
    await shows(page, 'Wheat', 'corn 500', 'corn 50%');

    const field = page.getByRole('searchbox', { name: /Filter jobs/ });
    await field.fill('CORN 50%');
    await shows(page, 'corn 50%');
    await field.fill('corn');
    await shows(page, 'corn 500', 'corn 50%');
    await page.getByRole('button', { name: /^queued/ }).click();
    await shows(page, 'corn 500');
    assert.deepEqual([...search(page)].toSorted(), [
      ['name', 'corn'],
      ['status', 'queued'],
    ]);

    await page.reload();
    await shows(page, 'corn 500');
    assert.equal(await field.inputValue(), 'corn');
    assert.equal(await page.getByRole('button', { name: /^queued/ }).getAttribute('aria-pressed'), 'true');
    await page.getByRole('button', { name: /^all/ }).click();
    await shows(page, 'corn 500', 'corn 50%');
    await page.goBack();
    await shows(page, 'corn 500');
    await field.fill('barley');
    await page.getByText('No job matches.').waitFor();
  });

  it('say how long they are kept where somebody wished it', async (t) => {
    const server = await startTestServer(t);
    const { id } = await submit(server.client, { name: 'paper' });
    const page = await open(server.url);
    await page.getByRole('button', { name: 'Details of paper' }).click();
    const facts = page.locator('.facts > div');
    await facts.filter({ hasText: /^Submitted/ }).waitFor();
    const kept = facts.filter({ hasText: /^Kept/ });
    assert.equal(await kept.count(), 0);
    await server.client.call('changeJob', { params: { id }, body: { keep: 'forever' } });
    await page.reload();
    await kept.filter({ hasText: 'for ever' }).waitFor();
  });

  it('are filtered by owner, type, tag and day, by keyboard, by a link and by a tag that is pressed', async (t) => {
    const principals = ['ann:token-of-ann:submitter', 'bob:token-of-bob:submitter'];
    const server = await startTestServer(t, { principals });
    const [ann, bob] = ['token-of-ann', 'token-of-bob'].map((token) => server.clientWith(token));
    assert.ok(ann && bob);
    await submit(ann, { name: 'one', tags: ['corn', 'a paper'], note: 'two\nlines' });
    const two = await submit(bob, { name: 'two', tags: ['corn'] });
    await submit(bob, { name: 'three', type: 'other.run' });
    const page = await open(server.url, { token: 'token-of-ann' });
    await shows(page, 'three', 'two', 'one');
    await page.locator('.filters summary').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('me');
    await shows(page, 'one');
    assert.deepEqual([...search(page)], [['owner', 'me']]);
    await page.getByLabel('Owner').fill('');
    await page.getByLabel('Type or library').fill('other');
    await shows(page, 'three');
    await page.getByLabel('Type or library').fill('other.predict');
    await page.getByText('No job matches.').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await shows(page, 'three', 'two', 'one');
    await page.getByLabel('Kind').selectOption('predictions');
    await page.getByText('No job matches.').waitFor();
    assert.equal(search(page).get('does'), 'predict');
    await page.getByLabel('Kind').selectOption('runs');
    await shows(page, 'three', 'two', 'one');
    await page.getByRole('button', { name: 'Clear' }).click();
    await until('the choice to be gone', async () => (await page.getByLabel('Kind').inputValue()) === '');

    const counts = page.getByRole('group', { name: 'Filter jobs by status' }).locator('.count');
    await counts.first().waitFor();
    await page.getByLabel('Tag', { exact: true }).fill('corn, a paper');
    await shows(page, 'one');
    assert.equal(await counts.count(), 0, 'numbers of all jobs are none of those that are left');
    await page.getByRole('button', { name: 'Details of one' }).click();
    await page.locator('.note', { hasText: 'lines' }).waitFor();
    await page.locator('.panel .tag', { hasText: 'corn' }).click();
    await until('the tag', () => search(page).get('tag') === 'corn');
    await rowOf(page, two).waitFor();
    assert.equal(await page.getByLabel('Tag', { exact: true }).inputValue(), 'corn');
    await page.goBack();
    await until('the tags of before', () => search(page).get('tag') === 'corn, a paper');

    const today = new Date();
    const day = (later: number) => {
      const at = new Date(today.getFullYear(), today.getMonth(), today.getDate() + later, 12);
      return at.toISOString().slice(0, 10);
    };
    const linked = await open(server.url, {
      token: 'token-of-bob',
      path: `/ui?owner=me&tag=corn&since=${day(-1)}&until=${day(1)}`,
    });
    await shows(linked, 'two');
    assert.equal(await linked.locator('.filters').getAttribute('open'), '');
    await linked.getByLabel('From').fill(day(3));
    await linked.getByText('No job matches.').waitFor();
    assert.deepEqual(await seriousFaults(linked, '#jobs'), []);
  });

  it('are found by the end or the beginning of their id, all jobs that match', async (t) => {
    const server = await startTestServer(t);
    const wanted = await submit(server.client, { name: 'wanted' });
    const hand = await Hand.register(server.client);
    await hand.finish({ best_rmse: 1 });
    await submit(server.client, { name: 'other' });
    const page = await open(server.url);
    await shows(page, 'other', 'wanted');
    const shown = (await rowOf(page, wanted).locator('code').textContent()) as string;
    assert.match(shown, /^…[0-9a-z]{8}$/);
    const field = page.getByRole('searchbox', { name: /Filter jobs/ });
    for (const part of [shown, shown.slice(1), wanted.id, `${wanted.id.slice(0, -1)}…`]) {
      await field.fill(part);
      await shows(page, 'wanted');
      await field.fill('');
      await shows(page, 'other', 'wanted');
    }
    await field.fill(wanted.id.slice(0, 9));
    await shows(page, 'other', 'wanted');
    await page.getByRole('button', { name: /^queued/ }).click();
    await shows(page, 'other');
  });

  it('are sorted within their page by a column, and the address keeps the order', async (t) => {
    const { server, hand } = await serverAndHand(t);
    for (const [name, best_rmse] of [
      ['b', 3],
      ['a', 1],
      ['c', 2],
    ] as const) {
      await submit(server.client, { name });
      await hand.finish({ best_rmse });
    }
    await submit(server.client, { name: 'none' });
    const page = await open(server.url);
    await shows(page, 'none', 'c', 'a', 'b');
    const best = page.getByRole('button', { name: 'Best' });
    await best.click();
    await shows(page, 'a', 'c', 'b', 'none');
    await best.click();
    await shows(page, 'b', 'c', 'a', 'none');
    assert.equal(
      await page.getByRole('columnheader', { name: 'Best' }).getAttribute('aria-sort'),
      'descending',
    );
    await page.reload();
    await shows(page, 'b', 'c', 'a', 'none');
    await best.click();
    await shows(page, 'none', 'c', 'a', 'b');
  });

  it('come in pages by cursor, each job once, however many are added meanwhile', async (t) => {
    const server = await startTestServer(t);
    for (let i = 1; i <= 120; i++) await submit(server.client, { name: `job ${i}` });
    const page = await open(server.url);
    const from = (first: number, last: number) =>
      Array.from({ length: first - last + 1 }, (_, i) => `job ${first - i}`);
    const older = page.getByRole('button', { name: 'Older' });
    await shows(page, ...from(120, 71));
    await older.click();
    await shows(page, ...from(70, 21));
    await submit(server.client, { name: 'added' });
    await older.click();
    await shows(page, ...from(20, 1));
    assert.equal(await older.isDisabled(), true);
    await page.getByText('Page 3').waitFor();
    await page.reload();
    await shows(page, ...from(20, 1));
    await page.getByRole('button', { name: 'Newer' }).click();
    await shows(page, ...from(70, 21));
    await page.getByRole('button', { name: 'Newest' }).click();
    await shows(page, 'added', ...from(120, 72));
  });

  it('show their progress and their best metric, as these change', async (t) => {
    const server = await startTestServer(t);
    const job = await submit(server.client, { name: 'matrix', ...pipelines('a', 'b', 'c') });
    const page = await open(server.url);
    const row = rowOf(page, job);
    await row.getByRole('img', { name: '3 tasks: 3 queued' }).waitFor();
    const hand = await Hand.register(server.client, { slots_total: 3 });
    await hand.finish({ best_rmse: 0.120049 });
    const failing = await hand.run();
    await hand.run();
    await hand.fail(failing, 'no');
    await row.getByRole('img', { name: '3 tasks: 1 succeeded, 1 failed, 1 running' }).waitFor();
    await row.getByRole('cell', { name: '0.1200' }).waitFor();
    await row.getByText('running', { exact: true }).waitFor();
  });

  it('are cancelled after a confirmation, and only then', async (t) => {
    const { server, job, hand } = await jobAndHand(t, { name: 'mistaken', ...pipelines('a', 'b') });
    await hand.run();
    const page = await open(server.url);
    const cancel = rowOf(page, job).getByRole('button', { name: 'Cancel mistaken' });
    const dialog = page.getByRole('dialog', { name: 'Cancel mistaken?' });
    const status = async () => (await server.client.call('getJob', { params: { id: job.id } })).status;

    await cancel.click();
    await dialog.getByText('1 running task will be told to stop, 1 waiting task will not run').waitFor();
    await dialog.getByRole('button', { name: 'Keep it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await cancel.click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await status(), 'running');

    await cancel.click();
    await dialog.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('Cancellation requested: mistaken').waitFor();
    await rowOf(page, job).getByText('cancelling', { exact: true }).waitFor();
    assert.equal(await status(), 'cancelling');
    assert.equal(await cancel.count(), 0, 'there is nothing more to cancel');
  });

  it('are retried when they failed', async (t) => {
    const { server, job, hand } = await jobAndHand(t, { name: 'unlucky' });
    await hand.fail(await hand.run(), 'the disk was full');
    const page = await open(server.url);
    await rowOf(page, job).getByRole('button', { name: 'Retry unlucky' }).click();
    await page.getByText('Queued again: unlucky').waitFor();
    await rowOf(page, job).getByText('queued', { exact: true }).waitFor();
    await hand.finish({ best_rmse: 1 });
    await rowOf(page, job).getByText('succeeded', { exact: true }).waitFor();
  });

  it('show it when an action is refused because somebody else was faster', async (t) => {
    const { server, job, hand } = await jobAndHand(t, { name: 'contested' });
    await hand.fail(await hand.run(), 'no');
    const page = await open(server.url, { expected: /409/ });
    const retry = rowOf(page, job).getByRole('button', { name: 'Retry contested' });
    await retry.waitFor();
    // The page hears of nothing for a moment.
    await page.route('**/v1/jobs/*/retry', async (route) => {
      await server.client.call('retryJob', { params: { id: job.id }, body: {} });
      await route.continue();
    });
    await retry.click();
    await page.locator('.notice.is-bad', { hasText: 'contested: ' }).waitFor();
  });

  it('copy their whole id to the clipboard', async (t) => {
    const server = await startTestServer(t);
    const job = await submit(server.client, { name: 'copied' });
    const page = await open(server.url, { permissions: ['clipboard-read', 'clipboard-write'] });
    await rowOf(page, job).getByRole('button', { name: 'Copy the job id' }).click();
    await page.getByText('Copied the job id').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), job.id);
    // On a LAN without https a browser has no such clipboard.
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined });
      document.addEventListener('copy', () => { window.copied = getSelection().toString(); });`);
    await rowOf(page, job).getByRole('button', { name: 'Copy the job id' }).click();
    await until('the old way', async () => (await page.evaluate('window.copied')) === job.id);
  });
});
