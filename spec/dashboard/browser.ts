import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { chromiumPath } from '../support/requires.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
];
/** Longest wait for something to appear, in milliseconds; it only ends a test that would hang. */
const PATIENCE_MS = 60_000;

export function launchBrowser(flags: string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath() ?? '', args: [...FLAGS, ...flags] });
}

export interface Visit extends BrowserContextOptions {
  /** Path and query. */
  path?: string;
  /** Kept in the local storage before the page loads. */
  token?: string;
  /** Console errors that belong to the test, such as those of a server that is away. */
  expected?: RegExp;
}

/**
 * One browser for the tests of a file, a fresh profile for each page. A page fails its test when anything is
 * reported as an error, or when it asks another host for something.
 */
export function browserForTests(): (url: string, visit?: Visit) => Promise<Page> {
  let browser: Browser;
  const visits: { context: BrowserContext; faults: string[] }[] = [];
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());
  // Before the hooks of the test itself, which stop the server: a page without one complains.
  afterEach(async () => {
    const ended = visits.splice(0);
    const faults = ended.flatMap((visit) => visit.faults);
    for (const { context } of ended) await context.close();
    assert.deepEqual(faults, [], 'the page reported no errors and asked no other host');
  });

  return async (url, { path = '/ui', token, expected, ...options } = {}) => {
    const context = await browser.newContext({ viewport: { width: 1500, height: 900 }, ...options });
    const faults: string[] = [];
    visits.push({ context, faults });
    context.setDefaultTimeout(PATIENCE_MS);
    if (token !== undefined) {
      const key = "'jq-cluster.token'";
      await context.addInitScript(
        `localStorage.getItem(${key}) ?? localStorage.setItem(${key}, ${JSON.stringify(token)})`,
      );
    }
    const page = await context.newPage();
    collectFaults(page, new URL(url).host, expected, faults);
    await page.goto(url + path);
    return page;
  };
}

function collectFaults(page: Page, host: string, expected: RegExp | undefined, faults: string[]): void {
  const note = (text: string) => {
    if (!expected?.test(text)) faults.push(text);
  };
  page.on('pageerror', (fault) => note(`uncaught: ${fault.stack ?? fault.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') note(`console: ${message.text()}`);
  });
  const inside = (address: string) => {
    const url = new URL(address);
    if (url.protocol !== 'data:' && url.protocol !== 'blob:' && url.host !== host) note(`asked ${address}`);
  };
  page.on('request', (request) => inside(request.url()));
  page.on('websocket', (socket) => inside(socket.url()));
}
