import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

const lit = (page: Page): Promise<string[]> => marked(page, 'data-lit');
const would = (page: Page): Promise<string[]> => marked(page, 'data-would');
const marked = (page: Page, mark: string): Promise<string[]> =>
  page
    .locator(`svg.chart [${mark}="true"]`)
    .evaluateAll((all: { dataset: { state: string } }[]) => all.map(({ dataset }) => dataset.state));
const stepped = (page: Page): Promise<string[]> =>
  page
    .locator('svg.chart [data-stepped="true"]')
    .evaluateAll((all: { dataset: { from: string; to: string } }[]) =>
      all.map(({ dataset: { from, to } }) => `${from} → ${to}`),
    );
const isLit = (page: Page, id: string) => until(`${id} is lit`, async () => (await lit(page)).includes(id));
/** A member of the context, as it is shown, with what it was. */
const member = async (page: Page, name: string): Promise<string> =>
  (await page.locator(`[data-member="${name}"] td`).first().textContent()) ?? '';
const changed = (page: Page): Promise<string[]> =>
  page
    .locator('[data-changed="true"]')
    .evaluateAll((all: { dataset: { member: string } }[]) => all.map(({ dataset }) => dataset.member));

describe('one actor on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  async function failedOnce(t: Parameters<typeof startTestServer>[0], machine: 'job' | 'task' | 'worker') {
    const server = await startTestServer(t);
    const hand = await Hand.register(server.client, { slots_total: 2 });
    const { id } = await submit(server.client, pipelines('a', 'b'));
    const failed = await hand.run();
    await hand.fail(failed, 'no luck', true);
    const again = await hand.run();
    const actor = { job: id, task: again.task_id, worker: hand.id }[machine];
    const path = `/ui?view=statecharts&machine=${machine}&actor=${actor}&of=${id}`;
    return { server, hand, id, again, path };
  }

  it('is followed back and forth through its past, with the chart lit and what each step changed', async (t) => {
    const { server, path, again } = await failedOnce(t, 'task');
    const page = await open(server.url, { path });
    await isLit(page, 'task.running.executing');
    assert.equal(await member(page, 'attempt'), String(again.attempt));
    const steps = await page.locator('[data-step]').count();
    assert.ok(steps >= 2);
    await page.getByRole('button', { name: 'Step back' }).click();
    await isLit(page, 'task.leased');
    assert.deepEqual(await stepped(page), ['task.queued → task.leased']);
    await until('what changed', async () => (await changed(page)).includes('worker_id'));
    assert.match(await member(page, 'worker_id'), /^"worker_.*was null$/);
    assert.match(await member(page, 'lease_expires_at'), /^not recorded/);
    const slider = page.getByRole('slider', { name: 'Step' });
    await slider.focus();
    await page.keyboard.press('Home');
    assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /^1 of \d+: LEASE at .*leased$/);
    await page.keyboard.press('ArrowRight');
    await isLit(page, 'task.running.executing');
    assert.equal(await page.locator('[aria-current="step"]').count(), 1);
    await page.getByRole('button', { name: 'Now' }).click();
    await isLit(page, 'task.running.executing');
    assert.deepEqual(await seriousFaults(page), []);
  });

  it('of a job tells how its counts changed with each task', async (t) => {
    const { server, path } = await failedOnce(t, 'job');
    const page = await open(server.url, { path });
    await isLit(page, 'job.running.computing');
    await page.getByRole('button', { name: 'First step' }).click();
    await isLit(page, 'job.queued.ready');
    await until('its beginning', async () => (await member(page, 'counts')).includes('"queued":2'));
    await page.getByRole('button', { name: 'Step forth' }).click();
    await isLit(page, 'job.running.computing');
    await until('counted', async () => (await member(page, 'counts')).includes('"queued":1,"leased":1'));
    assert.match(await member(page, 'counts'), /was .*"queued":2/);
    assert.deepEqual(await stepped(page), ['job.queued.ready → job.running.computing']);
  });

  it('of a worker tells its slots', async (t) => {
    const { server, path } = await failedOnce(t, 'worker');
    const page = await open(server.url, { path });
    await isLit(page, 'worker.alive.busy');
    await page.getByRole('button', { name: 'First step' }).click();
    await isLit(page, 'worker.alive.idle');
    assert.equal(await member(page, 'slots_used'), '0');
  });

  it('sends events to a copy by the real machine, and the server hears nothing of it', async (t) => {
    const { server, path, id } = await failedOnce(t, 'task');
    const page = await open(server.url, { path });
    const posts: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') posts.push(request.url());
    });
    await isLit(page, 'task.running.executing');
    await page.getByRole('button', { name: /^What if/ }).click();
    const copy = page.getByRole('region', { name: 'What if' });
    await copy.getByRole('button', { name: 'COMPLETE → succeeded' }).waitFor();
    await copy.getByRole('button', { name: 'START is not taken' }).waitFor();
    await copy.getByRole('button', { name: /^FAIL/ }).click();
    await copy.getByRole('textbox').fill(
      JSON.stringify({
        ...{ now: 5, report: { worker_id: 'w', attempt: 1, verb: 'fail' }, error: 'as I like' },
        ...{ retriable: false, fault: 'task', by: 'r', elsewhere: true },
      }),
    );
    await copy.getByRole('button', { name: 'Send to the copy' }).click();
    await copy.getByText('FAIL: running.executing → failed, and says task_failed, lease_ended').waitFor();
    assert.deepEqual(await would(page), ['task.failed']);
    assert.deepEqual(
      await lit(page),
      ['task.running', 'task.running.executing'],
      'the actor is where it was',
    );
    await page.getByRole('img', { name: 'its copy is in failed' }).waitFor();
    assert.match(await member(page, 'error'), /^"as I like"was null$|^"as I like" was/);
    await copy.getByRole('textbox').fill('[1]');
    await copy.getByRole('button', { name: 'Send to the copy' }).click();
    await copy.getByText('FAIL cannot be sent: an event is a JSON object').waitFor();
    await copy.getByRole('button', { name: 'Undo' }).click();
    await until('undone', async () => (await would(page)).includes('task.running.executing'));
    assert.deepEqual(await seriousFaults(page), []);
    await copy.getByRole('button', { name: 'End the copy' }).click();
    await until('ended', async () => (await would(page)).length === 0);
    assert.deepEqual(posts, []);
    assert.equal((await server.client.call('getJob', { params: { id } })).status, 'running');
  });

  it('shows the messages between a job, its tasks, workers and the supervisor, also in words', async (t) => {
    const { server, path, hand, id, again } = await failedOnce(t, 'job');
    const page = await open(server.url, { path });
    await page.getByText('Messages between the job').click();
    const picture = page.getByRole('img', { name: 'Messages in their order' });
    await picture.waitFor();
    const parties = await page
      .locator('[data-party]')
      .evaluateAll((all: { dataset: { party: string } }[]) => all.map(({ dataset }) => dataset.party));
    for (const party of ['supervisor supervisor', `job ${id}`, `task ${again.task_id}`, `worker ${hand.id}`])
      assert.ok(parties.includes(party), party);
    const messages = await page
      .locator('[data-message]')
      .evaluateAll((all: { dataset: { message: string } }[]) => all.map(({ dataset }) => dataset.message));
    assert.deepEqual(messages.slice(0, 7), [
      ...['submitted to job', 'LEASE to task', 'TASK_TAKEN to worker', 'TASK_LEASED to job'],
      ...['START to task', 'TASK_STARTED to job', 'FAIL to task'],
    ]);
    await page.getByText('The same as a list').click();
    await page
      .getByText(/supervisor to task .*: LEASE: queued → leased/)
      .first()
      .waitFor();
    assert.deepEqual(await seriousFaults(page), []);
  });

  it('says why what it knew cannot be told, and shows the steps that are recorded all the same', async (t) => {
    const { server, path, again } = await failedOnce(t, 'task');
    const page = await open(server.url, { path: '/ui?view=statecharts' });
    const started = (event: { type: string; task_id: string | null }) =>
      event.type === 'task_leased' && event.task_id === again.task_id;
    await page.route('**/events?*', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        response: answer,
        json: (await answer.json()).filter((one: never) => !started(one)),
      });
    });
    await page.goto(server.url + path);
    await page
      .getByText(/What it knew then cannot be told\. The event \d+, task_started, does not follow/)
      .waitFor();
    await isLit(page, 'task.running.executing');
    assert.ok((await page.locator('[data-step]').count()) > 0);
  });
});
