import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import type { browserForTests, Visit } from './browser.ts';
import { Hand, submit } from './hands.ts';

/** Opens the page of a job whose only task left files of these roles, with the task open in a tab. */
export function taskWith(open: ReturnType<typeof browserForTests>) {
  return async (
    t: TestContext,
    files: Record<string, string>,
    tab = 'tasks',
    visit: Visit = {},
  ): Promise<Page> => {
    const server = await startTestServer(t);
    const { id } = await submit(server.client);
    const hand = await Hand.register(server.client);
    const [task, folder] = [await hand.run(), await temporaryDirectory(t)];
    for (const [role, text] of Object.entries(files)) await hand.upload(task, folder, role, role, text);
    await hand.complete(task, { metrics: { best_rmse: 1 } });
    const page = await open(server.url, { path: `/ui?job=${id}&tab=${tab}`, ...visit });
    await page.getByRole('button', { name: tab === 'tasks' ? /^Log and details/ : /^Log and files/ }).click();
    return page;
  };
}
