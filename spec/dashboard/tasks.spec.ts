import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutProgress } from '../../gateway/ui/client/text/log-text.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { browserForTests } from './browser.ts';
import { Hand, jobAndHand, pipelines, submit } from './hands.ts';

interface Frame {
  scrollTop: number;
  scrollHeight: number;
  clientHeight: number;
}
const distance = (frame: Frame) => frame.scrollHeight - frame.scrollTop - frame.clientHeight;

describe('the tasks of a job on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('show their progress and their worker, also from before the page was opened, and as these change', async (t) => {
    const server = await startTestServer(t);
    const job = await submit(server.client, { name: 'watched', ...pipelines('a', 'b') });
    const hand = await Hand.register(server.client, { name: 'bench-7', slots_total: 2 });
    const [task, other] = [await hand.run(), await hand.run()];
    const says = (progress: number, message: string) =>
      hand.tell(task, [{ type: 'progress', level: 'info', message, progress }]);
    await says(0.42, 'fold 4 of 10');
    const page = await open(server.url, { path: `/ui?job=${job.id}&tab=tasks` });
    const rowOf = (pipeline: string) => page.getByRole('row', { name: new RegExp(`task ${pipeline} on`) });
    await rowOf('a').getByText('bench-7').waitFor();
    await page.getByText('42 %').waitFor();
    await page.getByText('fold 4 of 10', { exact: true }).waitFor();
    const bar = page.getByRole('progressbar', { name: 'Progress' });
    assert.equal(await bar.count(), 1, 'the other task has said nothing');
    assert.equal(await bar.getAttribute('value'), '0.42');
    await says(0.8, 'fold 8 of 10');
    await page.getByText('80 %').waitFor();

    // What an attempt said is nothing of the next one.
    await hand.fail(task, 'no', true);
    await hand.fail(other, 'no', false);
    const again = await hand.run();
    assert.equal(again.task_id, task.task_id);
    await rowOf('a').getByText('2 of 2', { exact: true }).waitFor();
    await bar.waitFor({ state: 'detached' });
    await hand.complete(again, {});
    await rowOf('a').getByText('succeeded').waitFor();
  });

  it('show once a reason for which many of them wait, and at a task a reason of its own', async (t) => {
    const { server, job, hand } = await jobAndHand(t, { name: 'wide', ...pipelines(...'abcdefghij') });
    await hand.run();
    const page = await open(server.url, { path: `/ui?job=${job.id}&tab=tasks` });
    const taken = page.getByText('All slots of 1 matching worker are taken.');
    await taken.first().waitFor();
    await page.getByText('9 tasks waiting:').waitFor();
    assert.equal(await taken.count(), 1);
  });

  it('open their log at its end, with the lines that only report progress folded', async (t) => {
    const { server, job, hand } = await jobAndHand(t, { name: 'logged' });
    const task = await hand.run();
    const lines = Array.from({ length: 300 }, (_, i) => [
      `fold ${i + 1}: RMSE 0.2`,
      `::progress ${i / 300} fold ${i + 1}`,
    ]).flat();
    await hand.print(task, lines.slice(0, 200).join('\n'));
    const page = await open(server.url, { path: `/ui?job=${job.id}&tab=tasks` });
    await page.getByRole('button', { name: /Log and details of task/ }).click();
    const log = page.locator('.log-text');
    await log.getByText('fold 100: RMSE').waitFor();
    await until('its end', async () => (await log.evaluate(distance)) < 2);

    const dir = await temporaryDirectory(t);
    const logs = await hand.upload(task, dir, 'logs', 'run.log', `${lines.join('\n')}\n`);
    await hand.complete(task, { artifacts: { logs } });
    await page.getByText('succeeded', { exact: true }).first().waitFor();
    // What is open is in the address.
    await page.reload();
    await log.getByText('fold 300: RMSE').waitFor();
    assert.doesNotMatch((await log.textContent()) ?? '', /::progress/);
    await until('its end', async () => (await log.evaluate(distance)) < 2);
    const folded = page.getByRole('checkbox', { name: '300 progress lines' });
    await folded.check();
    await log.getByText('::progress 0.5 fold 151').waitFor();
    await folded.uncheck();
    assert.doesNotMatch((await log.textContent()) ?? '', /::progress/);
  });
});

describe('the lines of a log', () => {
  it('are folded when a worker reads them as progress, and only then', () => {
    assert.deepEqual(withoutProgress('a\n::progress 0.5 half\n::progress .75\nb'), {
      text: 'a\nb',
      folded: 2,
    });
    for (const line of ['::progress', '::progress half', ' ::progress 0.5', '::progressed 0.5']) {
      assert.deepEqual(withoutProgress(line), { text: line, folded: 0 });
    }
  });
});
