import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { start } from '../cli/cli-support.ts';
import { type TestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** A worker of a server, with two slots, that ends with the test. */
export async function startWorker(
  t: TestContext,
  { url, client }: TestServer,
  flags: string[] = [],
): Promise<void> {
  const state = join(await temporaryDirectory(t), 'worker');
  const worker = start('jq-worker', [
    ...['--server', url, '--state', state, '--slots', '2', '--log-level', 'silent', '--json'],
    ...flags,
  ]);
  t.after(() => worker.child.kill('SIGKILL'));
  await until('the worker', async () => (await client.call('listWorkers')).length > 0);
}
