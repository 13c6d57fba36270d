import { createServer, type IncomingMessage } from 'node:http';
import { WebSocketServer } from 'ws';
import type { ArtifactView, EventView, JobView, TaskView } from '../../machines/schema/views.ts';
import { listen } from '../support/listen.ts';

/** What a path answers: a document, its text or bytes, or a refusal; or all but the end of it. */
type Fixed = { status?: number; body: unknown; end?: 'cut' | 'never' };
export type Answer = Fixed | ((request: IncomingMessage) => Answer);

/**
 * A server that tells whatever a test wants, true or not: what an honest server never does (damaged content,
 * hostile names) has to be shown by a dishonest one.
 * @param answers by `METHOD path` without query
 * @param events what the event stream of every job sends
 */
export async function fakeServer(answers: Record<string, Answer>, events: EventView[] = []) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const key = `${request.method} ${(request.url ?? '').split('?')[0]}`;
    requests.push(`${request.method} ${request.url}`);
    let answer: Answer = answers[key] ?? {
      status: 404,
      body: { detail: 'no such path', code: 'unknown_path' },
    };
    if (typeof answer === 'function') answer = answer(request);
    const { status = 200, body, end } = answer as Fixed;
    request.resume();
    request.on('end', () => {
      const bytes = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-length': Buffer.byteLength(bytes) });
      if (end === undefined) response.end(bytes);
      else response.write(bytes.slice(0, -1), () => end === 'cut' && setImmediate(() => response.destroy()));
    });
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => {
    for (const event of events) socket.send(JSON.stringify(event));
  });
  const { url } = await listen(server);
  return {
    ...{ url, requests },
    async stop() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A job as a server shows it. */
export function aJob(over: Partial<JobView> = {}, sums: Partial<JobView['aggregate']> = {}): JobView {
  return {
    id: 'job_1',
    type: 'mljs.run',
    name: null,
    status: 'succeeded',
    priority: 0,
    created_at: 1_750_000_000,
    updated_at: 1_750_000_042,
    owner: 'anonymous',
    error: null,
    warnings: [],
    submission: { mode: 'client_submitted', principal: 'anonymous', required_rights: [], granted_rights: [] },
    scheduler: {
      shape: 'atomic',
      task_granularity: 'whole_mljs_run',
      assignment_mode: 'server_leased_executor',
      result_provenance: 'server_attested_worker_report',
      submit_rights_required: [],
      execute_rights_required: [],
    },
    aggregate: {
      num_tasks: 1,
      num_queued: 0,
      num_running: 0,
      num_succeeded: 1,
      num_failed: 0,
      num_cancelled: 0,
      num_reused: 0,
      rank_metric: 'best_rmse',
      best_metric: null,
      best_task_id: null,
      best_model_artifact_id: null,
      ranking: [],
      errors: {},
      ...sums,
    },
    ...over,
  };
}

/** A task as a server shows it. */
export function aTask(over: Partial<TaskView> = {}): TaskView {
  return {
    id: 'task_1',
    job_id: 'job_1',
    status: 'succeeded',
    attempt: 1,
    max_attempts: 2,
    worker_id: null,
    lease_expires_at: null,
    requirements: {},
    dataset_label: 'gasoline',
    pipeline_label: 'pls',
    pipeline_steps: null,
    created_at: 1_750_000_000,
    updated_at: 1_750_000_042,
    started_at: null,
    not_before: null,
    result: null,
    error: null,
    waiting_for: [],
    ...over,
  };
}

/** An artifact as a server lists it. */
export function anArtifact(over: Partial<ArtifactView> = {}): ArtifactView {
  return {
    role: 'model',
    task_id: 'task_1',
    id: 'art_1',
    sha256: '0'.repeat(64),
    kind: 'model',
    size_bytes: 1,
    created_at: 1_750_000_042,
    filename: 'best_model.json',
    metadata: {},
    ...over,
  };
}

/** An event as a server sends it. */
export function anEvent(over: Partial<EventView> = {}): EventView {
  return {
    id: 1,
    job_id: 'job_1',
    task_id: null,
    worker_id: null,
    ts: 1_750_000_001,
    level: 'info',
    type: 'log',
    message: '',
    data: {},
    ...over,
  };
}
