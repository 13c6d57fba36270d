import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import type { TaskView } from '../../machines/schema/views.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { CatalogServer } from './catalog-server.ts';
import { temporaryFolder } from './folder.ts';
import { logOf, serverAndWorker, startTestWorker, submit, taskIn, taskOf } from './support.ts';

/** The path at which the child of a task finds the dataset. */
function datasetOf(task: TaskView): string {
  const { spec } = (task.result?.extra ?? {}) as { spec: string };
  return JSON.parse(spec).dataset.path;
}

describe('a dataset of a catalog', () => {
  const of = (catalog_id: string) => ({ dataset: { kind: 'catalog', catalog_id } });

  it('reaches the child as a path, and the log says which version it is', async (t) => {
    const [server, catalog] = [await startTestServer(t), await CatalogServer.start(t)];
    catalog.add('corn', '1');
    catalog.add('corn', '2');
    await startTestWorker(t, server, { catalog: catalog.index });
    const job = await submit(server, { do: 'echo' }, of('corn'));
    const path = datasetOf(await taskIn(server, job));
    assert.equal(basename(path), 'corn');
    assert.match(await readFile(join(path, 'train.csv'), 'utf8'), /^corn2/);
    assert.match(await logOf(server, job), /^\[jq-worker\] dataset corn@2, sha256 [0-9a-f]{64}\n$/);
  });

  it('fails its task at once when it is unknown, or is not what the catalog says', async (t) => {
    const [server, catalog] = [await startTestServer(t), await CatalogServer.start(t)];
    catalog.add('corn', '1', 10, { sha256: 'f'.repeat(64) });
    await startTestWorker(t, server, { catalog: catalog.index });
    const unknown = await taskIn(server, await submit(server, { do: 'echo' }, of('rye@1')));
    assert.deepEqual([unknown.status, unknown.attempt], ['failed', 1]);
    assert.equal(unknown.error, "the catalog has no dataset 'rye'; it has corn");
    const wrong = await taskIn(server, await submit(server, { do: 'echo' }, of('corn')));
    assert.deepEqual([wrong.status, wrong.attempt], ['failed', 1]);
    assert.match(`${wrong.error}`, /dataset corn@1: .*the catalog says ffff/);
  });

  it('is only ever the one with the sha256 that the job names', async (t) => {
    const [server, catalog] = [await startTestServer(t), await CatalogServer.start(t)];
    catalog.add('corn');
    await startTestWorker(t, server, { catalog: catalog.index });
    const asked = (sha256: string) => ({ dataset: { kind: 'catalog', catalog_id: 'corn', sha256 } });
    const own = String(catalog.entries[0]?.sha256);
    const right = await taskIn(server, await submit(server, { do: 'echo' }, asked(own)));
    assert.equal(right.status, 'succeeded');
    const wrong = await taskIn(server, await submit(server, { do: 'echo' }, asked('e'.repeat(64))));
    assert.deepEqual([wrong.status, wrong.attempt], ['failed', 1]);
    assert.equal(
      wrong.error,
      `the job asks for 'corn' with sha256 ${'e'.repeat(64)}; in the catalog corn@1 has ${own}`,
    );
  });

  it('is not available to a worker without a catalog: its task waits for one that has it', async (t) => {
    const [server, catalog] = [await startTestServer(t), await CatalogServer.start(t)];
    catalog.add('corn');
    await startTestWorker(t, server);
    const job = await submit(server, { do: 'echo' }, of('corn'));
    assert.deepEqual((await taskOf(server, job)).waiting_for, [
      { requirement: 'capabilities.catalog', workers_missing: 1 },
    ]);
    const able = await startTestWorker(t, server, { catalog: catalog.index });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.worker_id], ['succeeded', able.workerId]);
  });
});

describe('a dataset that one worker alone has', () => {
  it('sends its task to that worker, by the name that the worker declared', async (t) => {
    const { server } = await serverAndWorker(t);
    const corn = await temporaryFolder(t);
    const dataset = { kind: 'worker_local', name: 'corn' };
    const job = await submit(server, { do: 'echo' }, { dataset });
    const waiting = await until('the reason why it waits', async () => {
      const { waiting_for } = await taskOf(server, job);
      return (waiting_for ?? []).length > 0 && waiting_for;
    });
    assert.deepEqual(waiting, [{ requirement: 'labels.dataset.corn=true', workers_missing: 1 }]);
    const owner = await startTestWorker(t, server, { datasets: { corn } });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.worker_id, datasetOf(task)], ['succeeded', owner.workerId, corn]);
  });
});
