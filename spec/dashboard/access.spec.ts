import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { browserForTests } from './browser.ts';
import { Hand, submit } from './hands.ts';

const principals = ['ada:ada-token:admin', 'sam:sam-token:submitter', 'vic:vic-token:viewer'];
const UNAUTHORISED = /status of 401/;
const FORBIDDEN = /status of 403/;

const useToken = async (page: Page, token: string) => {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Use token' }).click();
};

describe('access to the dashboard', requires('chromium'), () => {
  const open = browserForTests();

  it('needs nothing on a server without credentials', async (t) => {
    const server = await startTestServer(t);
    const page = await open(server.url);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'anonymous' }).waitFor();
  });

  it('asks for a token, keeps it over a reload, and forgets it on request', async (t) => {
    const server = await startTestServer(t, { principals });
    await submit(server.clientWith('sam-token'), { name: 'secret' });
    const page = await open(server.url, { expected: UNAUTHORISED });
    await page.getByRole('heading', { name: 'This server asks for a token' }).waitFor();
    assert.equal(await page.locator('#jobs').count(), 0);
    await useToken(page, 'sam-token');
    await page.getByText('secret', { exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    await page.reload();
    await page.getByText('secret', { exact: true }).waitFor();
    assert.ok(!page.url().includes('sam-token'), 'the token is not in the address');

    await page.getByRole('button', { name: 'sam', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Access' });
    await dialog.getByText('cancel, read, submit').waitFor();
    await dialog.getByRole('button', { name: 'Forget token' }).click();
    await page.getByRole('heading', { name: 'This server asks for a token' }).waitFor();
    assert.equal(await page.getByText('secret', { exact: true }).count(), 0, 'nothing is left to be read');
    await page.reload();
    await page.getByRole('heading', { name: 'This server asks for a token' }).waitFor();
  });

  it('explains a token that the server does not know, and takes a better one', async (t) => {
    const server = await startTestServer(t, { principals });
    const page = await open(server.url, { token: 'mistyped', expected: UNAUTHORISED });
    await page.getByRole('heading', { name: 'The server does not know this token' }).waitFor();
    await useToken(page, 'vic-token');
    await page.getByRole('button', { name: 'vic', exact: true }).waitFor();
    await page.locator('#jobs').waitFor();
  });

  it('explains a token without the right to read, also with the message of the server', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    await writeFile(authFile, JSON.stringify([{ name: 'pusher', rights: ['submit'], token: 'p-token' }]));
    const server = await startTestServer(t, { authFile });
    const page = await open(server.url, { token: 'p-token', expected: FORBIDDEN });
    await page.getByRole('heading', { name: 'This token may not read' }).waitFor();
    await page.getByText("principal 'pusher' lacks required right(s): read").waitFor();
    await page.getByText('viewer, submitter or executor').waitFor();

    await writeFile(
      authFile,
      JSON.stringify([{ name: 'pusher', rights: ['submit', 'read'], token: 'p-token' }]),
    );
    await server.reload();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#jobs').waitFor();
  });

  it('notices a token that is revoked while the page is open', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    const other = { name: 'other', roles: ['admin'], token: 'o-token' };
    await writeFile(authFile, JSON.stringify([other, { name: 'temp', roles: ['viewer'], token: 't-token' }]));
    const server = await startTestServer(t, { authFile });
    const page = await open(server.url, { token: 't-token', expected: UNAUTHORISED });
    await page.getByText('Live', { exact: true }).waitFor();
    await writeFile(authFile, JSON.stringify([other]));
    await server.reload();
    // The next event makes the page ask for news.
    await submit(server.clientWith('o-token'), { name: 'news' });
    await page.getByRole('heading', { name: 'The server does not know this token' }).waitFor();
    assert.equal(await page.locator('#jobs').count(), 0);
  });

  it('follows a token that was entered in another tab', async (t) => {
    const server = await startTestServer(t, { principals });
    const page = await open(server.url, { expected: UNAUTHORISED });
    await page.getByRole('heading', { name: 'This server asks for a token' }).waitFor();
    const tab = await page.context().newPage();
    await tab.goto(`${server.url}/ui`);
    await useToken(tab, 'vic-token');
    await page.getByRole('button', { name: 'vic', exact: true }).waitFor();
  });

  it('hides the actions that the token has no right to', async (t) => {
    const server = await startTestServer(t, { principals });
    const ada = server.clientWith('ada-token');
    const hand = await Hand.register(ada);
    const failed = await submit(ada, { name: 'failed' });
    await hand.fail(await hand.run(), 'no');
    await submit(ada, { name: 'waiting' });
    for (const [token, buttons] of [
      ['vic-token', []],
      ['sam-token', ['Cancel waiting', 'Retry failed']],
    ] as const) {
      const page = await open(server.url, { token, path: `/ui?job=${failed.id}` });
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Details of waiting' }).waitFor();
      for (const name of buttons) await page.getByRole('button', { name }).first().waitFor();
      const shown = await page.getByRole('button', { name: /^(Cancel|Retry) / }).count();
      assert.equal(shown > 0, buttons.length > 0, token);
    }
  });
});
