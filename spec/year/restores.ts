import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { must } from '../history/history.ts';
import { Program, quietPort } from '../support/program.ts';
import { artifactsOf, contentsOf } from './look.ts';
import type { World } from './world.ts';
import { dated, YearServer } from './year-server.ts';

/** Artifacts of a restored store that are downloaded. */
const SAMPLE = 20;

/**
 * Restores the newest backup with the program, on the day on which it was made or soon after, and has a server live
 * on it: all that was there is there, and works.
 */
export async function restoreNewest(world: World): Promise<void> {
  const target = join(world.options.folder, 'restored');
  await run(world, ['restore', '--from', world.backups, '--state', target]);
  await run(world, ['check', '--state', target]);
  await compareContents(world, target);
  const port = await quietPort();
  const server = await YearServer.start(world.home, world.now, world.config({ state: target, port }));
  const client = new ClusterClient({ server: `http://127.0.0.1:${port}` });
  try {
    await download(world, client, target);
    await work(world, client);
  } finally {
    await client.close();
    await server.kill();
    await rm(target, { recursive: true, force: true });
  }
  world.counts.restored++;
}

async function run(world: World, args: string[]): Promise<void> {
  const program = new Program(
    process.execPath,
    [join(world.home, 'bin/jq-server'), ...args],
    dated(world.now),
  );
  const { code } = await program.ended;
  must(code === 0, `jq-server ${args[0]} ended with ${code}: ${program.stdout} ${program.stderr}`);
}

/** Beside the event that tells of the restore, everything is as it is in the store that was saved a moment ago. */
async function compareContents(world: World, target: string): Promise<void> {
  const [theirs, ours] = [await contentsOf(target), await contentsOf(world.state)];
  const first = JSON.parse(theirs.events?.pop() ?? '[]');
  must(first[1] === 'server_restored', `the restored store begins with ${JSON.stringify(first)}`);
  for (const [name, rows] of Object.entries(ours)) {
    const restored = theirs[name] ?? [];
    const differs = rows.findIndex((row, i) => row !== restored[i]);
    must(
      rows.length === restored.length && differs < 0,
      `${name}: ${rows.length} were saved, ${restored.length} restored; ${rows[differs]} became ${restored[differs]}`,
    );
  }
}

async function download(world: World, client: ClusterClient, target: string): Promise<void> {
  const all = await artifactsOf(target);
  const chance = world.chance(`restore ${world.now}`);
  for (let i = 0; i < SAMPLE && all.length > 0; i++) {
    const { id, sha256 } = chance.pick(all);
    const { body } = await client.download(id);
    const hash = createHash('sha256')
      .update(await buffer(body))
      .digest('hex');
    must(hash === sha256, `the restored artifact ${id} holds other bytes`);
  }
}

/** Nobody of before is known; who registers now gets what there is to do. */
async function work(world: World, client: ClusterClient): Promise<void> {
  const worker = (await client.call('listWorkers')).find(({ status }) => status === 'alive');
  must(!world.workers.has(worker?.id ?? ''), 'a worker of before the restore is known after it');
  const labels = { site: 'restored' };
  const requirements = { labels };
  const pipeline = { kind: 'inline_json' as const, inline: {} };
  const dataset = { kind: 'shared_path' as const, path: '/data' };
  const job = await client.call('submitJob', {
    body: { type: 'demo.run', pipeline, dataset, requirements, priority: 9 },
  });
  const { worker_id } = await client.call('registerWorker', {
    body: { labels, version: { packages: { demo: '1.0' } } },
  });
  const { task } = await client.call('lease', { params: { id: worker_id }, body: { wait_s: 0 } });
  must(task?.job_id === job.id, 'the restored server hands out no work');
  const { task_id, attempt } = task as { task_id: string; attempt: number };
  const target = { params: { id: task_id }, query: { worker_id, attempt } };
  await client.call('startTask', target);
  await client.call('completeTask', { ...target, body: { metrics: { best_rmse: 1 } } });
  const { status } = await client.call('getJob', { params: { id: job.id } });
  must(status === 'succeeded', `a job on the restored server is ${status}`);
  const stranger = [...world.workers].at(-1) as string;
  const refusal = await client
    .call('heartbeat', { params: { id: stranger }, body: {} })
    .catch((fault: unknown) => fault);
  must(
    refusal instanceof ResponseError && refusal.code === 'unknown_id',
    `a worker of before may report: ${refusal}`,
  );
}
