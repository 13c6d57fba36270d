/**
 * Takes the pictures of the dashboard that the README shows: `npx tsx spec/dashboard/pictures.ts [FOLDER]`.
 * The jobs are real, made through the API; only the hour that the curves show is written into the store, and the
 * older jobs' times are moved back, since nobody wants to wait that long for a picture.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import UPNG from 'upng-js';
import { openWriter } from '../../actors/server/store/open.ts';
import { type RunningServer, startServer } from '../../bin/programs/server.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { launchBrowser } from './browser.ts';
import { Hand, pipelines, submit } from './hands.ts';

const MOST_BYTES = 200_000;
const STEPS = ['pls', 'snv-pls', 'msc-pls', 'derivative-pls', 'standardize-pls', 'snv-derivative-pls'];
const LABELS = { site: 'lab-a', instrument: 'nir-2' };

async function serve<T>(
  state: string,
  work: (server: RunningServer, client: ClusterClient) => Promise<T>,
): Promise<T> {
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    state,
    principals: [],
    corsOrigins: [],
    allowPythonJobs: false,
    leaseTtl: 60,
    heartbeatInterval: 10,
    workerDeadAfter: 45,
    maxRequestBytes: 16 * 1024 * 1024,
    maxArtifactBytes: 1024 * 1024,
    serviceName: 'jq-cluster',
    headerPrefixes: [],
    logLevel: 'silent',
  });
  const client = new ClusterClient({ server: server.url });
  try {
    return await work(server, client);
  } finally {
    await client.close();
    await server.stop();
  }
}

/** Numbers that look measured and are the same on every run. */
function* measured(): Generator<number> {
  for (let seed = 7; ; seed = (seed * 48_271) % 2_147_483_647) yield seed / 2_147_483_647;
}
const random = measured();
const next = (from: number, to: number): number => from + (to - from) * (random.next().value as number);

const metrics = () => {
  const best_rmse = next(0.18, 0.46);
  return { best_rmse, best_r2: 1 - best_rmse ** 2 / 2.4, best_mae: best_rmse * 0.78 };
};

async function olderJobs(client: ClusterClient): Promise<void> {
  const hand = await Hand.register(client, { name: 'past', slots_total: 16 });
  const finished = [
    'gasoline octane',
    'corn moisture',
    'wheat protein',
    'mango dry matter',
    'tablet assay',
    'soil carbon',
  ];
  for (const [i, name] of finished.entries()) {
    const steps = STEPS.slice(0, 2 + (i % 4));
    await submit(client, { name, ...pipelines(...steps) });
    for (const step of steps) {
      if (name === 'soil carbon' || (name === 'tablet assay' && step === 'snv-pls')) {
        await hand.fail(
          await hand.run(),
          `the dataset folder holds no train_y.csv: /data/${name.replace(' ', '-')}`,
        );
      } else await hand.finish(metrics());
    }
  }
  const stopped = await submit(client, { name: 'full grid, wrong wavelengths', ...pipelines(...STEPS) });
  await hand.finish(metrics());
  await client.call('cancelJob', { params: { id: stopped.id }, body: {} });
}

/** Moves what has happened back into the hour, and writes the hour's minutes. */
async function moveBack(state: string): Promise<void> {
  const db = await openWriter(join(state, 'store.sqlite'));
  const { jobs } = (await db.get<{ jobs: number }>('SELECT COUNT(*) AS jobs FROM jobs')) ?? { jobs: 0 };
  for (const table of ['jobs', 'tasks', 'events']) {
    const seq = table === 'jobs' ? 'seq' : `(SELECT seq FROM jobs WHERE id = ${table}.job_id)`;
    const columns = table === 'events' ? ['ts'] : ['created_at', 'updated_at'];
    const moves = columns.map((column) => `${column} = ${column} - (${jobs} + 1 - ${seq}) * 431`);
    await db.run(
      `UPDATE ${table} SET ${moves.join(', ')}${table === 'events' ? ' WHERE job_id IS NOT NULL' : ''}`,
    );
  }
  await db.run('DELETE FROM workers');
  await db.run('DELETE FROM stats_minutes');
  const present = Math.floor(Date.now() / 60_000);
  let queued = 40;
  for (let minute = present - 59; minute < present; minute++) {
    const submitted = next(0, 1) > 0.8 ? Math.round(next(10, 60)) : Math.round(next(0, 4));
    const succeeded = Math.min(queued, Math.round(next(7, 16)));
    const failed = next(0, 1) > 0.85 ? Math.round(next(1, 3)) : 0;
    queued = Math.max(0, queued + submitted - succeeded - failed);
    await db.run(
      `INSERT INTO stats_minutes (minute, submitted, started, succeeded, failed, queued, workers_alive)
       VALUES (?, ?, ?, ?, ?, ?, 4)`,
      [minute, submitted, succeeded, succeeded, failed, queued],
    );
  }
  await db.close();
}

async function presentJobs(client: ClusterClient, dir: string): Promise<string> {
  const bench = await Hand.register(client, {
    name: 'bench-1',
    slots_total: 4,
    labels: LABELS,
    capabilities: { memory_gb: 32 },
  });
  for (const [name, cluster, slots_total] of [
    ['bench-2', '0.1.0', 8],
    ['attic', '0.0.9', 2],
    ['gpu-box', '0.1.0', 16],
  ] as const) {
    const version = { cluster, node: '20.20.2', platform: 'linux x64', packages: { demo: '1.0' } };
    await Hand.register(client, {
      name,
      slots_total,
      version,
      labels: { site: name === 'attic' ? 'lab-b' : 'lab-a' },
    });
  }
  const shown = await submit(client, {
    name: 'gasoline matrix',
    priority: 5,
    ...pipelines(...STEPS),
    requirements: { labels: LABELS },
  });
  for (let i = 0; i < 3; i++) {
    const task = await bench.run();
    const model = await bench.upload(
      task,
      dir,
      'model',
      'best_model.json',
      JSON.stringify({ coefficients: Array(400).fill(0.5) }),
    );
    const logs = await bench.upload(task, dir, 'logs', 'run.log', 'fold 1 of 10\n'.repeat(900));
    await bench.complete(task, { metrics: metrics(), artifacts: { model, logs } });
  }
  const running = await bench.run();
  await bench.tell(running, [
    { type: 'log', level: 'info', message: FOLDS },
    { type: 'progress', level: 'info', message: 'fold 4 of 10', progress: 0.4 },
  ]);
  await bench.fail(await bench.run(), 'the share of the instrument was away', true);
  await bench.run();
  await submit(client, {
    name: 'barley, lab-z only',
    ...pipelines('pls', 'snv-pls'),
    requirements: { labels: { site: 'lab-z' } },
  });
  await submit(client, {
    name: 'wheat protein, all varieties',
    ...pipelines(...STEPS),
    requirements: { labels: { site: 'lab-z' } },
  });
  return shown.id;
}

const FOLDS = [
  'reading /data/gasoline: 60 spectra of 401 wavelengths',
  'msc, then PLS with 1 to 10 components',
  ...[1, 2, 3, 4].map((fold) => `fold ${fold} of 10: RMSE ${(0.21 + fold / 90).toFixed(4)}`),
].join('\n');

/** With a palette of 256 colours a picture of a page looks the same and takes a third of the room. */
async function take(page: Page | Locator, file: string): Promise<void> {
  const { width, height, ...picture } = UPNG.decode(arrayBufferOf(await page.screenshot()));
  const rgba = UPNG.toRGBA8({ width, height, ...picture });
  const small = Buffer.from(UPNG.encode(rgba, width, height, 256));
  if (small.length > MOST_BYTES) {
    throw new Error(`${file} has ${small.length} bytes, more than ${MOST_BYTES}`);
  }
  await writeFile(file, small);
  process.stdout.write(`${file}: ${Math.round(small.length / 1000)} kB\n`);
}

const arrayBufferOf = (bytes: Buffer): ArrayBuffer =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;

async function photograph(url: string, shown: string, folder: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ colorScheme, viewport: { width: 1440, height: 810 } });
      await page.goto(`${url}/ui`);
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByText('soil carbon').first().waitFor();
      await page.getByText('gpu-box', { exact: true }).waitFor();
      await page.locator('#feed .event').first().waitFor();
      await take(page, join(folder, `dashboard-${colorScheme}.png`));
    }
    const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 1180, height: 900 } });
    await page.goto(`${url}/ui?job=${shown}&tab=tasks&name=gasoline`);
    await page.getByRole('button', { name: /Log and details of task derivative-pls/ }).click();
    await page.locator('.log-text').getByText('fold 4 of 10: RMSE').waitFor();
    await take(page.locator('#jobs'), join(folder, 'job.png'));
    await photographStatechart(page, url, shown, join(folder, 'statechart.png'));
  } finally {
    await browser.close();
  }
}

/** The statechart of tasks, with the way of one that failed once and runs again. */
async function photographStatechart(page: Page, url: string, jobId: string, file: string): Promise<void> {
  const events = (await (await fetch(`${url}/v1/jobs/${jobId}/events?limit=5000`)).json()) as EventView[];
  const again = events.find(({ type }) => type === 'task_requeued') ?? events.find(({ task_id }) => task_id);
  const query = new URLSearchParams({
    view: 'statecharts',
    machine: 'task',
    actor: again?.task_id ?? '',
    of: jobId,
  });
  await page.goto(`${url}/ui?${query}`);
  await page.locator('[data-lit="true"]').first().waitFor();
  await page.locator('[data-step]').first().waitFor();
  await page.locator('.badge:not(.is-none)').first().waitFor();
  await take(page.locator('#statecharts'), file);
}

async function main(folder: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'jq-pictures-'));
  const state = join(dir, 'state');
  await mkdir(folder, { recursive: true });
  await mkdir(state);
  try {
    await serve(state, (_server, client) => olderJobs(client));
    await moveBack(state);
    await serve(state, async ({ url }, client) => photograph(url, await presentJobs(client, dir), folder));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

await main(process.argv[2] ?? fileURLToPath(new URL('../../examples/pictures/', import.meta.url)));
