import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { seriousFaults } from './axe.ts';
import { browserForTests, type Visit } from './browser.ts';
import { Hand, job } from './hands.ts';

describe('“Run again with…” on the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  /** The page of a job that has ended, with its specification opened to be changed. */
  async function editing(t: TestContext, visit: Visit = {}) {
    const server = await startTestServer(t);
    const spec = JSON.stringify(job({ name: 'old', idempotency_key: 'once' })).slice(0, -1);
    const { id } = await server.client.call('submitJob', {
      text: `${spec},"params":{"alpha":1.0,"n":12345678901234567890}}`,
    });
    const hand = await Hand.register(server.client);
    await hand.finish({ best_rmse: 1 });
    const page = await open(server.url, { path: `/ui?job=${id}`, expected: /422|400/, ...visit });
    await page.getByRole('button', { name: 'Run again with…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run old again with…' });
    const text = dialog.getByLabel('Specification of the new job');
    return {
      server,
      id,
      page,
      dialog,
      text,
      submit: dialog.getByRole('button', { name: 'Submit as a new job' }),
    };
  }

  it('submits the changed specification as a new job, and the two are linked both ways', async (t) => {
    const { server, id, page, dialog, text, submit } = await editing(t);
    await dialog.getByText('1 task', { exact: true }).waitFor();
    const before = await text.inputValue();
    assert.match(before, /^params: \{ alpha: 1\.0, n: 12345678901234567890 \}$/m);
    assert.doesNotMatch(before, /idempotency_key/);
    await text.fill(before.replace('name: old', 'name: fresh'));
    await submit.click();
    await page.getByText('Submitted: fresh, 1 task').waitFor();
    const fact = (name: string) => page.locator('.facts > div').filter({ hasText: new RegExp(`^${name}`) });
    await fact('Again from')
      .getByRole('link', { name: id.slice(-8) })
      .click();
    const [fresh] = await server.client.call('listJobs', { query: { resubmitted_from: id } });
    assert.equal(fresh?.resubmitted_from, id);
    await fact('Run again')
      .getByRole('link', { name: fresh?.id.slice(-8) ?? '' })
      .click();
    await fact('Again from').waitFor();
    assert.match(
      await server.client.callText('getJobRequest', { params: { id: fresh?.id ?? '' } }),
      /"alpha":1\.0,"n":12345678901234567890/,
    );
  });

  it('says while it is typed what is wrong, or how many tasks it makes, and submits nothing that is wrong', async (t) => {
    const { dialog, text, submit, server } = await editing(t);
    const before = await text.inputValue();
    await text.fill(`# for the paper\n${before.replace('demo.run', 'Demo')}`);
    await dialog
      .getByText('Line 2: /type must be the name of a library with .run or .predict behind it')
      .waitFor();
    assert.equal(await submit.isDisabled(), true);
    assert.equal(await text.getAttribute('aria-invalid'), 'true');
    await text.fill(`${before}params: [1\n`);
    await dialog
      .locator('.wrong')
      .getByText(/malformed YAML: line \d+, column \d+/)
      .waitFor();
    const one = '{ kind: path, path: a.yaml }';
    await text.fill(before.replace(/pipeline: .*/, `pipelines: [${one}, ${one}, ${one}]\nretires: 1`));
    await dialog.getByText('3 tasks, where it was 1').waitFor();
    await dialog.getByText(/unknown field 'retires', did you mean 'retry'/).waitFor();
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    assert.equal((await server.client.call('listJobs', {})).length, 1);
  });

  it('has what the job is called and what is said of it by now', async (t) => {
    const { server, id, page, text, dialog } = await editing(t);
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    const body = { name: 'new', tags: ['corn'], note: 'first line\nsecond line' };
    await server.client.call('changeJob', { params: { id }, body });
    await page.locator('.note', { hasText: 'second line' }).waitFor();
    await page.getByRole('button', { name: 'Run again with…' }).click();
    const now = await text.or(page.getByLabel('Specification of the new job')).inputValue();
    assert.match(now, /^name: new$/m);
    assert.match(now, /^tags: \[corn\]$/m);
    assert.match(now, /^note: \|-\n {2}first line\n {2}second line$/m);
    assert.match(now, new RegExp(`^resubmitted_from: ${id}$`, 'm'));
  });

  it('may be JSON, and links to no job that is not on this server', async (t) => {
    const { server, page, text, submit } = await editing(t);
    const spec = job({ name: 'imported', resubmitted_from: 'job_of_another_server' });
    await text.fill(JSON.stringify(spec, null, 2));
    await submit.click();
    await page.getByText('Submitted: imported, 1 task').waitFor();
    const from = page.locator('.facts > div').filter({ hasText: /^Again from/ });
    await from.getByText('r_server, not on this server').waitFor();
    assert.equal(await from.getByRole('link').count(), 0);
    assert.equal((await server.client.call('listJobs', {})).length, 2);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by everybody, in ${colorScheme} colours and on a phone`, async (t) => {
      const { page, dialog } = await editing(t, { colorScheme, viewport: { width: 390, height: 844 } });
      await dialog.getByText('1 task', { exact: true }).waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      const box = await dialog.boundingBox();
      assert.ok((box?.x ?? -1) >= 0 && (box?.width ?? 999) <= 390, `${box?.width} wide`);
    });
  }
});
