import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { checkRows } from '../../actors/server/check/rows.ts';
import type { RetentionSettings } from '../../actors/server/retention/settings.ts';
import type { LeasedTask } from '../../gateway/messages.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { sha256 } from '../support/sha256.ts';
import { lookInto } from '../support/test-store.ts';
import type { TestWorker } from '../support/test-worker.ts';

export const DAY = 86_400;

/** A cluster that keeps things as long as it is told, with a worker that lives as long as it is asked to. */
export async function clusterKeeping(t: TestContext, retention: Partial<RetentionSettings>) {
  const cluster = await TestCluster.start(t);
  cluster.retention = retention;
  await cluster.restart();
  const worker = await cluster.register({ slots_total: 4 });
  return { cluster, worker };
}

/** Brings bytes to the disk and records them, for a task where one is given. */
export async function upload(
  cluster: TestCluster,
  text: string,
  task?: { lease: LeasedTask; role: string; worker: TestWorker },
): Promise<string> {
  const placed = await cluster.port.blobs.place(Buffer.from(text));
  const { sha256, size_bytes } = placed;
  const { artifact_id } = await cluster.port.send({
    ...{ type: 'record_artifact', principal: cluster.principal, sha256, size_bytes },
    ...{ kind: 'blob', filename: null },
    ...(task && {
      task: {
        ...{ task_id: task.lease.task_id, role: task.role },
        ...{ worker_id: task.worker.id, attempt: task.lease.attempt },
      },
    }),
  });
  await placed.release();
  return artifact_id;
}

/** Reports a line of the log of a task. */
export async function says(cluster: TestCluster, worker: TestWorker, lease: LeasedTask, message: string) {
  await cluster.port.send({
    ...{ type: 'report_events', principal: cluster.principal, task_id: lease.task_id, worker_id: worker.id },
    ...{ attempt: lease.attempt },
    events: [{ type: 'log', level: 'info', message, data: '{}' }],
  } as never);
}

/** Submits a job and has it done, with a line of log, a model and a log file. */
export async function done(
  cluster: TestCluster,
  worker: TestWorker,
  differs: Record<string, unknown> = {},
  bytes = `model ${Math.random()}`,
) {
  const { id } = await cluster.submit(job(differs));
  const lease = await worker.run();
  await says(cluster, worker, lease, 'a line');
  const model = await upload(cluster, bytes, { lease, role: 'model', worker });
  const logs = await upload(cluster, `log of ${bytes}`, { lease, role: 'logs', worker });
  await worker.complete(lease, { metrics: { best_rmse: 0.5 }, artifacts: { model, logs, workspace: null } });
  assert.equal((await cluster.job(id)).status, 'succeeded');
  return { id, model, logs, lease, sha256: sha256(bytes) };
}

export const isThere = (cluster: TestCluster, sha256: string): Promise<boolean> =>
  access(join(cluster.stateDir, objectPath(sha256))).then(
    () => true,
    () => false,
  );

/** How many rows a table has. */
export async function count(cluster: TestCluster, table: string): Promise<number> {
  const sql = `SELECT count(*) AS n FROM ${table}`;
  return lookInto(cluster.stateDir, async (store) => (await store.get<{ n: number }>(sql))?.n ?? -1);
}

/** The rows of the store fit together, as `jq-server check` has it. */
export async function assertRowsFit(cluster: TestCluster): Promise<void> {
  assert.deepEqual(await lookInto(cluster.stateDir, (store) => checkRows(store)), []);
}

/** The bytes of an artifact as a download gives them. */
export async function download(cluster: TestCluster, id: string): Promise<string> {
  const found = await cluster.port.reads.artifact(id);
  await cluster.port.blobs.assertWhole(found);
  const pieces: Buffer[] = [];
  const stream: Readable = cluster.port.blobs.read(found, 0, found.size_bytes - 1);
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
