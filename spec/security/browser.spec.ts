import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../dashboard/browser.ts';
import { listenFor } from '../support/listen.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** The names of the browser's world, in the functions that run there. */
declare const document: {
  forms: { submit(): void }[];
  createElement(name: string): Frame;
  body: { append(element: Frame): void };
  addEventListener(type: string, listener: (event: { effectiveDirective: string }) => void): void;
};
declare const navigator: { sendBeacon(url: string, body: string): boolean };
interface Frame {
  onload: () => void;
  src: string;
  contentDocument: unknown;
}

const JOB = JSON.stringify({
  type: 'demo.run',
  name: 'planted',
  pipeline: { kind: 'path', path: 'x' },
  dataset: { kind: 'catalog', catalog_id: 'x' },
});

/** What a page's script learnt of a request. */
interface Learnt {
  status?: number;
  text?: string;
  failed?: string;
}

/** A site of somebody else's, on this machine but on another port: another origin. */
async function foreignSite(t: TestContext): Promise<string> {
  const site: Server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>evil</title><p>nothing to see</p>');
  });
  return (await listenFor(t, site)).url;
}

/** Runs `fetch` in a page, as a script of its site would. */
const fetchIn = (page: Page, url: string, init: RequestInit): Promise<Learnt> =>
  page.evaluate(
    async ([target, options]) => {
      try {
        const answer = await fetch(target, options);
        return { status: answer.status, text: await answer.text() };
      } catch (fault) {
        return { failed: String(fault) };
      }
    },
    [url, init] as const,
  );

/** How a WebSocket that a page opens goes: whether it opened, and what it heard. */
const socketIn = (page: Page, url: string): Promise<{ opened: boolean; heard: number }> =>
  page.evaluate(
    (target) =>
      new Promise((resolve) => {
        const socket = new WebSocket(target);
        let opened = false;
        let heard = 0;
        socket.onopen = () => {
          opened = true;
        };
        socket.onmessage = () => {
          heard++;
          socket.close();
        };
        socket.onclose = () => resolve({ opened, heard });
      }),
    url,
  );

const jobsOf = async (server: TestServer, token?: string) =>
  (await server.clientWith(token).call('listJobs')).map(({ name }) => name);

/** Which directive of the page's policy a WebSocket falls under; `none` when it may open. */
const blockedIn = (page: Page, url: string): Promise<string> =>
  page.evaluate(
    (target) =>
      new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
        new WebSocket(target).onopen = () => resolve('none');
      }),
    url,
  );

describe('the dashboard in a real browser', requires('chromium'), () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    it(
      `connects to its own server alone, by requests and streams, under the name ${host}`,
      host === '[::1]' ? requires('IPv6') : {},
      async (t) => {
        const browser = await launchBrowser();
        t.after(() => browser.close());
        const server = await startTestServer(t, { host: host === '[::1]' ? '::1' : '127.0.0.1' });
        await server.client.call('submitJob', { text: JOB });
        const other = await startTestServer(t, { corsOrigins: ['*'] });
        await other.client.call('submitJob', { text: JOB });
        const page = await (await browser.newContext()).newPage();
        await page.goto(`http://${host}:${server.port}/ui`);
        await page.locator('.connection', { hasText: 'live' }).waitFor();
        const stream = '/v1/events/stream';
        const own = await socketIn(page, `ws://${host}:${server.port}${stream}`);
        assert.deepEqual(own, { opened: true, heard: 1 });
        assert.equal(await blockedIn(page, other.url.replace('http', 'ws') + stream), 'connect-src');
        assert.ok(
          (await fetchIn(page, `${other.url}/v1/jobs`, {})).failed,
          'not even where it would be let in',
        );
      },
    );
  }
});

describe('a page of another site in a real browser', requires('chromium'), () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  async function visit(t: TestContext, url: string, from = browser): Promise<Page> {
    const context = await from.newContext();
    t.after(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    return page;
  }

  it('cannot submit a job to an open server by any request that needs no preflight', async (t) => {
    const server = await startTestServer(t);
    const page = await visit(t, await foreignSite(t));
    const target = `${server.url}/v1/jobs`;
    for (const init of [
      { method: 'POST', body: JOB },
      { method: 'POST', body: JOB, mode: 'no-cors' },
      { method: 'POST', body: JOB, mode: 'no-cors', credentials: 'include' },
      { method: 'POST', body: JOB, headers: { 'Content-Type': 'text/plain' }, mode: 'no-cors' },
      { method: 'POST', body: JOB, headers: { 'Content-Type': 'application/json' } },
      { method: 'POST', body: JOB, keepalive: true, mode: 'no-cors' },
    ] as RequestInit[]) {
      const learnt = await fetchIn(page, target, init);
      assert.ok(learnt.failed !== undefined || learnt.status === 0, JSON.stringify({ init, learnt }));
    }
    await page.evaluate(([url, body]) => navigator.sendBeacon(url, body), [target, JOB] as const);
    // A form sends the browser there, so what is shown is the refusal itself.
    await page.setContent(
      `<form method="post" enctype="text/plain" action="${target}"><input name='${JOB.slice(0, -1)},"x":"' value='"}'></form>`,
    );
    const [answer] = await Promise.all([
      page.waitForResponse(
        (response) => response.url() === target && response.request().isNavigationRequest(),
      ),
      page.evaluate(() => document.forms[0]?.submit()),
    ]);
    assert.equal(answer.status(), 403);
    assert.deepEqual(await jobsOf(server), [], 'nothing was planted');
  });

  it('cannot read anything of an open server, nor its streams', async (t) => {
    const server = await startTestServer(t);
    await server.client.call('submitJob', { text: JOB });
    const page = await visit(t, await foreignSite(t));
    for (const path of ['/v1/jobs', '/v1/workers', '/v1/events', '/healthz', '/ui', '/openapi.json']) {
      for (const init of [{}, { credentials: 'include' }, { mode: 'no-cors' }] as RequestInit[]) {
        const learnt = await fetchIn(page, server.url + path, init);
        assert.ok(learnt.failed !== undefined || learnt.text === '', `${path}: ${JSON.stringify(learnt)}`);
      }
    }
    const address = server.url.replace('http', 'ws');
    for (const path of ['/v1/events/stream', '/v1/inspect']) {
      assert.deepEqual(await socketIn(page, address + path), { opened: false, heard: 0 }, path);
    }
    const frame = await page.evaluate(
      (url) =>
        new Promise<boolean>((resolve) => {
          const element = document.createElement('iframe');
          element.onload = () => resolve(element.contentDocument === null);
          element.src = url;
          document.body.append(element);
        }),
      `${server.url}/ui`,
    );
    assert.ok(frame, 'the dashboard lets nobody frame it');
  });

  it('cannot use a token that it has learned, unless its origin is allowed', async (t) => {
    const principals = ['ada:ada-token:admin'];
    const site = await foreignSite(t);
    const closed = await startTestServer(t, { principals });
    const allowed = await startTestServer(t, { principals, corsOrigins: [site] });
    const page = await visit(t, site);
    const headers = { Authorization: 'Bearer ada-token', 'Content-Type': 'application/json' };
    const submit = (server: TestServer) =>
      fetchIn(page, `${server.url}/v1/jobs`, { method: 'POST', body: JOB, headers });
    const stream = (server: TestServer) =>
      socketIn(page, `${server.url.replace('http', 'ws')}/v1/events/stream?token=ada-token`);
    assert.ok((await submit(closed)).failed);
    assert.deepEqual(await jobsOf(closed, 'ada-token'), []);
    assert.equal((await submit(allowed)).status, 200);
    assert.deepEqual(await jobsOf(allowed, 'ada-token'), ['planted']);
    await closed.clientWith('ada-token').call('submitJob', { text: JOB });
    assert.deepEqual(await stream(closed), { opened: false, heard: 0 });
    assert.deepEqual(await stream(allowed), { opened: true, heard: 1 });
  });

  it('gains nothing when its name is pointed to this machine (DNS rebinding)', async (t) => {
    const server = await startTestServer(t);
    await server.client.call('submitJob', { text: JOB });
    const rebound = await launchBrowser(['--host-resolver-rules=MAP evil.example 127.0.0.1']);
    t.after(() => rebound.close());
    const address = `http://evil.example:${server.port}`;
    // The page of the name is asked of this server, so the browser takes it for its own.
    const page = await visit(t, `${address}/healthz`, rebound);
    assert.match((await page.textContent('body')) ?? '', /host_refused/);
    for (const init of [{}, { method: 'POST', body: JOB }]) {
      const learnt = await fetchIn(page, `${address}/v1/jobs`, init);
      assert.equal(learnt.status, 403, JSON.stringify(learnt));
      assert.match(learnt.text ?? '', /host_refused/);
    }
    const stream = await socketIn(page, `ws://evil.example:${server.port}/v1/events/stream`);
    assert.deepEqual(stream, { opened: false, heard: 0 });
    assert.deepEqual(await jobsOf(server), ['planted'], 'only the job of before');
  });
});
