import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench } from '../bench.ts';
import { HttpPool } from '../load/http-pool.ts';
import { proportionalBytes, treeOf } from '../measure/tree.ts';
import { startWorker } from '../measure/worker.ts';
import { atMost, type Reading } from '../workload.ts';
import { submitOne } from '../workloads/checks.ts';
import { inlinePipelines } from '../workloads/noops.ts';

const PROGRAM = fileURLToPath(new URL('waits.py', import.meta.url));
const LOOK_MS = 20;
const PATIENCE_MS = 300_000;

/** Tasks that have loaded the library and wait, warm and cold: their memory, and how long a cancel takes. */
export async function waiting(bench: Bench, python: string, env: NodeJS.ProcessEnv): Promise<Reading[]> {
  const slots = bench.pick(8, 8, 2);
  const warm = await held(bench, python, env, slots, ['--serve']);
  const cold = await held(bench, python, env, slots, []);
  const memory = (way: string, bytes: number, targets = {}): Reading => ({
    id: `sweep.slots.${way}`,
    what: `${slots} slots that have loaded the library, ${way}: memory of the worker and its processes`,
    unit: 'MiB',
    value: bytes / 2 ** 20,
    ...targets,
  });
  const cancel = (way: string, value: number[], targets = {}): Reading => ({
    id: `sweep.cancel.${way}`,
    what: `cancel of a task, ${way}, until its process is gone`,
    unit: 'ms',
    value,
    ...targets,
  });
  return [
    memory('cold', cold.bytes),
    memory('warm', warm.bytes, { targets: [atMost(1, 'sweep.slots.cold')] }),
    cancel('cold', cold.cancelMs),
    // As fast, as far as such short times tell.
    cancel('warm', warm.cancelMs, { targets: [atMost(1.1, 'sweep.cancel.cold')] }),
  ];
}

async function held(bench: Bench, python: string, env: NodeJS.ProcessEnv, slots: number, serve: string[]) {
  const server = await bench.server();
  const at = bench.directory();
  const runner = ['waits=', python, ' ', PROGRAM, ...serve.map((word) => ` ${word}`)].join('');
  const worker = await startWorker(server.url, bench.directory(), {
    argv: ['--runner', runner],
    env: { ...env, JQ_BENCH_WAITING: at },
    slots,
  });
  const seen = new Set<string>();
  /** Starts so many tasks; their processes, once they wait, and what cancels them. */
  const start = async (count: number) => {
    const job = {
      type: 'waits.run',
      pipelines: inlinePipelines(count),
      dataset: { kind: 'shared_path', path: at },
    };
    const id = await submitOne(server.url, JSON.stringify(job));
    const fresh = () => readdirSync(at).filter((pid) => !seen.has(pid));
    await when(`${count} tasks that wait`, () => fresh().length === count);
    const pids = fresh();
    for (const pid of pids) seen.add(pid);
    return async () => {
      // A connection that nobody has used for long is closed.
      const pool = await HttpPool.open(server.url, 1);
      const began = performance.now();
      await pool.accepted(`/v1/jobs/${id}/cancel`);
      await when('their end', () => pids.every((pid) => !existsSync(join('/proc', pid))), 1);
      pool.close();
      return performance.now() - began;
    };
  };
  try {
    // What it learns of the first is loaded before the others come.
    await (await start(1))();
    const cancel = await start(slots);
    const bytes = proportionalBytes(treeOf(worker.pid));
    await cancel();
    const cancelMs: number[] = [];
    for (let i = 0; i < bench.pick(5, 3, 1); i++) cancelMs.push(await (await start(1))());
    return { bytes, cancelMs };
  } finally {
    await worker.kill();
  }
}

async function when(what: string, isSo: () => boolean, everyMs = LOOK_MS): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`no ${what} in ${PATIENCE_MS / 1000} s`);
    await delay(everyMs);
  }
}
