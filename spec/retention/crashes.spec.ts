import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job, type TestCluster } from '../support/cluster.ts';
import { type LaunchFaults, spawnServer, startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';
import { assertRowsFit, clusterKeeping, count } from './support.ts';

/** Three slices of tasks. */
const TASKS = 250;

/** A server on the state of a cluster that has stopped, which kills itself at a commit; what it is asked, it may not answer. */
async function life(cluster: TestCluster, faults: LaunchFaults, ask = async (_url: string) => {}) {
  const server = spawnServer({ state: cluster.stateDir, faults });
  const listening = await server.announced('listening').catch(() => null);
  if (listening) await ask(`${listening.url}`).catch(() => {});
  await server.ended;
}

test('a deletion that is killed at any of its commits goes on with the next start, and rows fit at each moment', async (t) => {
  const { cluster } = await clusterKeeping(t, {});
  const pipelines = Array.from({ length: TASKS }, (_, inline) => ({ kind: 'inline_json', inline }));
  const { pipeline: _, ...several } = job({ pipelines });
  const { id } = await cluster.submit(several);
  const other = await cluster.submit();
  await cluster.cancel(id);
  await cluster.stop();

  const deleteIt = async (url: string) => void (await fetch(`${url}/v1/jobs/${id}`, { method: 'DELETE' }));
  await life(cluster, { dieBeforeCommit: 1 }, deleteIt);
  assert.equal(await count(cluster, `jobs WHERE id = '${id}'`), 1, 'nothing of it happened');
  await assertRowsFit(cluster);
  await life(cluster, { dieAfterCommit: 1 }, deleteIt);
  assert.equal(await count(cluster, `jobs WHERE id = '${id}'`), 0, 'it is certain from its first commit on');
  await assertRowsFit(cluster);
  let lives = 0;
  for (; (await count(cluster, 'deletions')) > 0; lives++) {
    await life(cluster, { dieAfterCommit: 1 });
    await assertRowsFit(cluster);
  }
  assert.ok(lives >= 4, `${lives} commits after the first`);
  assert.equal(await count(cluster, 'tasks'), 1);

  const server = await startServerProgram({ state: cluster.stateDir });
  t.after(() => server.kill());
  await until('it serves what is left', async () => {
    const answer = await fetch(`${server.url}/v1/jobs`);
    const jobs = (await answer.json()) as { id: string }[];
    return jobs.length === 1 && jobs[0]?.id === other.id;
  });
  const events = await (await fetch(`${server.url}/v1/events?after_id=0`)).json();
  const gap = (events as { type: string; data: { count: number } }[]).find(({ type }) => type === 'gap');
  assert.ok((gap?.data.count ?? 0) > TASKS, 'what was deleted is told');
});
