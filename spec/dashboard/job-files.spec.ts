import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { browserForTests } from './browser.ts';
import { Hand, jobAndHand, pipelines, submit } from './hands.ts';

/** What a test needs of an element that scrolls. */
interface Frame {
  scrollTop: number;
  scrollHeight: number;
  clientHeight: number;
}

describe('the artifacts and the log of an open job on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('lets the artifacts of each task be downloaded, with the token', async (t) => {
    const server = await startTestServer(t, { token: 'secret' });
    const job = await submit(server.client, { name: 'fruitful' });
    const hand = await Hand.register(server.client);
    const dir = await temporaryDirectory(t);
    const task = await hand.run();
    const model = await hand.upload(task, dir, 'model', 'modèle 1.json', '{"a": 1.0}');
    await hand.complete(task, { artifacts: { model }, metrics: { best_rmse: 1 } });
    const page = await open(server.url, { path: `/ui?job=${job.id}&tab=tasks`, token: 'secret' });
    for (const name of [/^Download model .* of task/, /^Download Best model .* of the job/]) {
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name }).click();
      const download = await coming;
      assert.equal(download.suggestedFilename(), 'modèle 1.json');
      assert.equal(await readFile(await download.path(), 'utf8'), '{"a": 1.0}');
      await page.getByText('modèle 1.json is downloaded').first().waitFor();
    }
  });

  it('links the artifacts of an open server, which the browser then streams by itself', async (t) => {
    const { server, job, hand } = await jobAndHand(t);
    const task = await hand.run();
    await hand.upload(task, await temporaryDirectory(t), 'workspace', 'all.zip', 'PK');
    const page = await open(server.url, { path: `/ui?job=${job.id}&tab=tasks` });
    const coming = page.waitForEvent('download');
    await page.getByRole('link', { name: /^Download workspace .* of task/ }).click();
    assert.equal((await coming).suggestedFilename(), 'all.zip');
  });

  it('asks before it holds a large artifact in the browser', async (t) => {
    const server = await startTestServer(t, { token: 'secret' });
    const job = await submit(server.client);
    const hand = await Hand.register(server.client);
    const task = await hand.run();
    const id = await hand.upload(task, await temporaryDirectory(t), 'workspace', 'all.zip', 'PK');
    const page = await open(server.url, { path: '/ui', token: 'secret' });
    // No test uploads gigabytes: the listing alone claims them.
    await page.route('**/artifacts', async (route) => {
      const answer = await route.fetch();
      const listed = ((await answer.json()) as { id: string }[]).map((one) =>
        one.id === id ? { ...one, size_bytes: 3 * 1024 ** 3 } : one,
      );
      await route.fulfill({ response: answer, json: listed });
    });
    await page.locator(`tr[data-job="${job.id}"] .opener`).click();
    await page.getByRole('button', { name: /^Download workspace .* of task/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Download 3.0 GiB?' });
    await dialog.getByText('jqctl artifacts').waitFor();
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  /** A running task whose log is open on a page. */
  async function watchedLog(t: TestContext) {
    const server = await startTestServer(t);
    const job = await submit(server.client, { name: 'watched', ...pipelines('a', 'b') });
    const hand = await Hand.register(server.client, { slots_total: 2 });
    const [task, other] = [await hand.run(), await hand.run()];
    await hand.print(task, 'first line\n\u001b[32msecond\u001b[0m line');
    await hand.print(other, 'of another task');
    const page = await open(server.url, { path: `/ui?job=${job.id}` });
    await page.getByRole('button', { name: 'Log and details of task a on corn' }).click();
    const log = page.locator('.log-text');
    await log.getByText('second line').waitFor();
    return { hand, task, page, log, dir: await temporaryDirectory(t) };
  }

  it('follows the log of a task while it runs', async (t) => {
    const { hand, task, page, log } = await watchedLog(t);
    assert.equal(await log.textContent(), 'first line\nsecond line', 'plain, and of this task alone');
    const isAtEnd = () =>
      log.evaluate((frame: Frame) => frame.scrollHeight - frame.scrollTop - frame.clientHeight < 8);
    const lines = (from: number) => Array.from({ length: 100 }, (_, i) => `line ${from + i}`).join('\n');
    await hand.print(task, lines(1));
    await log.getByText('line 100').waitFor();
    await until('the end is in sight', isAtEnd);

    await log.evaluate((frame: Frame) => {
      frame.scrollTop = 0;
    });
    const follow = page.getByRole('checkbox', { name: 'Follow' });
    await until('scrolling away stops following', async () => !(await follow.isChecked()));
    await hand.print(task, lines(101));
    await log.getByText('line 200').waitFor();
    assert.equal(await log.evaluate((frame: Frame) => frame.scrollTop), 0);
    await follow.check();
    await until('the end is in sight again', isAtEnd);
  });

  it('shows the end of the uploaded log when a task has ended, and all of it on demand', async (t) => {
    const { hand, task, page, log, dir } = await watchedLog(t);
    const lines = Array.from({ length: 20_000 }, (_, i) => `file line ${i + 1}`);
    const logs = await hand.upload(task, dir, 'logs', 'run.log', lines.join('\n'));
    await hand.complete(task, { artifacts: { logs } });
    await page.getByRole('button', { name: /^Log file/ }).click();
    await log.getByText('file line 20000').waitFor();
    const shown = ((await log.textContent()) ?? '').split('\n');
    assert.deepEqual(shown, lines.slice(-shown.length), 'whole lines');
    assert.ok(shown.length < 5_000, 'not all at once');
    await page.getByRole('button', { name: /before; show all/ }).click();
    await until('all lines', async () => (await log.textContent()) === lines.join('\n'));
    await page.getByRole('button', { name: 'As it ran' }).click();
    await log.getByText('second line').waitFor();
  });
});
