import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { WorkerConfig } from '../../actors/worker/config.ts';
import { type RunningWorker, startWorkerProgram } from '../../actors/worker/worker.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { demoRunner } from './demo-runner.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { quick, silent } from './quick.ts';

export { isAlive, pidIn } from './processes.ts';

/** A real worker program in this process; ended when the test ends, whatever still runs. */
export async function startTestWorker(
  t: TestContext,
  server: { url: string },
  config: Partial<WorkerConfig> = {},
): Promise<RunningWorker & { state: string }> {
  const state = config.state ?? (await temporaryFolder(t));
  const worker = await startWorkerProgram({
    server: server.url,
    state,
    slots: 1,
    gpus: 0,
    runners: [demoRunner],
    log: silent,
    graceSeconds: 0.2,
    deliverySeconds: 20,
    backoff: quick,
    ...config,
  });
  atEnd(t, async () => {
    worker.cancelRunning();
    worker.drain();
    worker.drain();
    await worker.ended.catch(() => {});
  });
  return Object.assign(worker, { state });
}

/** A server, and a worker that is registered there. */
export async function serverAndWorker(
  t: TestContext,
  ofWorker: Partial<WorkerConfig> = {},
  ofServer: Partial<TestServer['config']> = {},
) {
  const server = await startTestServer(t, ofServer);
  return { server, worker: await startTestWorker(t, server, ofWorker) };
}

/** Submits a job of one task; `params.do` tells the child what to do. */
export async function submit(
  server: TestServer,
  params: Record<string, unknown>,
  differs: Record<string, unknown> = {},
): Promise<string> {
  const spec = {
    type: 'demo.run',
    pipeline: { kind: 'inline_json', inline: { steps: [] } },
    dataset: { kind: 'shared_path', path: fileURLToPath(new URL('./fixtures', import.meta.url)) },
    params,
    ...differs,
  };
  const { id } = await server.client.call('submitJob', { text: JSON.stringify(spec) });
  return id;
}

export async function taskOf(server: TestServer, jobId: string): Promise<TaskView> {
  const [task] = await server.client.call('listJobTasks', { params: { id: jobId } });
  if (!task) throw new Error('the job has no task');
  return task;
}

/** The task of a job once it is in a state (default: any terminal one). */
export function taskIn(
  server: TestServer,
  jobId: string,
  ...states: TaskView['status'][]
): Promise<TaskView> {
  const wanted = states.length > 0 ? states : ['succeeded', 'failed', 'cancelled'];
  return until(`task ${wanted.join(' or ')}`, async () => {
    const task = await taskOf(server, jobId);
    return wanted.includes(task.status) && task;
  });
}

/** The text of the log artifact of a job's only task. */
export async function logOf(server: TestServer, jobId: string): Promise<string> {
  const artifacts = await server.client.call('listJobArtifacts', { params: { id: jobId } });
  const log = artifacts.find((artifact) => artifact.role === 'logs');
  if (!log) throw new Error('the job has no log');
  const { body } = await server.client.download(log.id);
  return text(body);
}

/** Uploads a file of these bytes as an input artifact. */
export async function uploadInput(
  t: TestContext,
  server: TestServer,
  name: string,
  bytes: Buffer | string,
): Promise<string> {
  const file = join(await temporaryFolder(t), name);
  await writeFile(file, bytes);
  return (await server.client.upload('uploadArtifact', { file })).artifact_id;
}
