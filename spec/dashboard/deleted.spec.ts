import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { clusterKeeping, DAY, done } from '../retention/support.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests } from './browser.ts';

/** A server with a job whose log lines, log file, model, and at last all events were deleted when their time was over. */
async function afterDays(t: TestContext, days: number) {
  const { cluster, worker } = await clusterKeeping(t, {
    ...{ keepLogs: 10 * DAY, keepArtifacts: 20 * DAY, keepEvents: 30 * DAY },
  });
  const { id } = await done(cluster, worker, { name: 'long ago' });
  await cluster.pass(days * DAY);
  const [artifact] = await cluster.seen.jobArtifacts(id);
  const day = new Date((artifact?.expired_at ?? 0) * 1000);
  await cluster.stop();
  const server = await startTestServer(t, { state: cluster.stateDir });
  return { server, id, day: day.toLocaleDateString('sv') };
}

describe('what was deleted is said where it would stand', requires('chromium'), () => {
  const open = browserForTests();

  it('artifacts with the day, and without a link that leads nowhere', async (t) => {
    const { server, id, day } = await afterDays(t, 25);
    const page = await open(server.url, { path: `/ui?job=${id}&tab=tasks` });
    const deleted = page.locator('.expired');
    await deleted.filter({ hasText: `Best model` }).waitFor();
    await page.locator('.of-artifacts .expired').first().waitFor();
    const said = await deleted.allTextContents();
    assert.deepEqual(said.map((text) => text.replace(/ \d+ B, deleted [\d-]+$/, '')).sort(), [
      'Best model',
      'logs',
      'model',
    ]);
    assert.ok(
      said.some((text) => text.endsWith(`deleted ${day}`)),
      said.join(),
    );
    assert.equal(
      await page
        .locator('.panel')
        .getByRole('link', { name: /Download/ })
        .count(),
      0,
    );
    await page.getByRole('button', { name: /^Log and details of task/ }).click();
    await page.getByText('The log file was deleted on').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Log file/ }).count(), 0);
    await page.locator('.log-text').getByText('was deleted]').waitFor();
    assert.deepEqual(await seriousFaults(page, '.panel'), []);
  });

  it('lines of a log among the events that are left, and all events of a job', async (t) => {
    for (const [days, types] of [
      [15, ['job_succeeded', 'deleted', 'job_submitted']],
      [35, ['deleted']],
    ] as const) {
      const { server, id } = await afterDays(t, days);
      const page = await open(server.url, { path: `/ui?job=${id}&tab=events` });
      const gap = page.locator('.event-frame .event.is-gap');
      await gap.waitFor();
      assert.match((await gap.textContent()) ?? '', /of this job .*(was|were) deleted/);
      const seen = await page.locator('.event-frame .event-type').allTextContents();
      assert.deepEqual(
        seen.filter((type) => (types as readonly string[]).includes(type)),
        types,
      );
    }
  });

  it('the past of a job in its statechart', async (t) => {
    const { server, id } = await afterDays(t, 35);
    const page = await open(server.url, { path: `/ui?view=statecharts&machine=job&actor=${id}` });
    const told = /What it knew then cannot be told\. \d+ events of this job from \d+ to \d+ were deleted\./;
    await page.getByText(told).waitFor();
    assert.equal(await page.getByText('No event has moved it').count(), 0);
  });
});
