import type { Changes } from '../../actors/server/store/changes.ts';
import type { EventRow, JobRow, TaskRow, WorkerRow } from '../../actors/server/store/rows.ts';
import { LIST_NAMES } from '../../actors/server/store/turn-sql.ts';
import { noStanding } from '../../machines/ranking/standing.ts';

/** Rows with something in every column. */
export const jobRow: JobRow = {
  seq: 1,
  id: 'job_1',
  type: 'demo.run',
  name: 'Größe "x" \u{1F600}',
  note: 'two\nlines',
  tags: ['corn', 'set "A"'],
  status: 'running',
  state: null,
  priority: -3,
  moved: true,
  created_at: 1764278465.123001,
  updated_at: 1764278466.5,
  keep: '7d',
  owner: 'ann',
  granted_rights: ['read', 'submit'],
  warnings: ["unknown field 'x'"],
  error: 'why\nnot',
  idempotency_key: 'key',
  rank_metric: 'best_rmse',
  rank_mode: 'max',
  retry_attempts: 2,
  pins_fingerprint: true,
  is_dag: true,
  meaning: 'a hash',
  reuse: 'any',
  num_tasks: 28,
  counts: { queued: 1, leased: 2, running: 3, lost: 4, succeeded: 5, failed: 6, cancelled: 7 },
  best_metric: 0.1 + 0.2,
  best_task_id: 'task_9',
  best_model_artifact_id: 'art_9',
  num_reused: 2,
  selection: null,
  next_seq: null,
  last_seq: null,
  resubmitted_from: 'job_0',
  run_times: { count: 3, mean: 0.1 + 0.2, squares: 1e-7, since: 1.5 },
  standings: [
    {
      metric: 'best_rmse',
      mode: 'max',
      reported: 5,
      best_metric: 0.1 + 0.2,
      best_task_id: 'task_9',
      best_model_artifact_id: 'art_9',
    },
    { ...noStanding({ metric: 'größe "x"', mode: 'min' }), reported: 4, best_metric: 5e-324 },
  ],
};

export const taskRow: TaskRow = {
  seq: 7,
  id: 'task_1',
  job_id: 'job_1',
  status: 'running',
  state: 'executing',
  priority: 4,
  attempt: 2,
  max_attempts: 5,
  backoff_seconds: 1.5,
  not_before: 1764278466.75,
  worker_faults: 1,
  take_backs: 2,
  avoids: ['worker_1', 'Größe "x"'],
  worker_id: 'worker_1',
  lease_expires_at: 1764278999.25,
  requirement_id: 3,
  payload: { pipeline: 1, dataset: 2 },
  pipeline_label: 'p',
  pipeline_steps: 'snv » pls(components=5)',
  dataset_label: 'd',
  timeout_seconds: 0.5,
  created_at: 1764278465.123,
  updated_at: 1764278465.124,
  started_at: 1764278465.125,
  result: '{"metrics":{"a":1.0}}',
  rank_value: 5e-324,
  rank_others: [null, 0.1 + 0.2],
  model_artifact_id: 'art_1',
  error: 'boom',
  last_report: { worker_id: 'worker_1', attempt: 2, verb: 'fail', answer: { ok: true, requeued: false } },
  content_key: 'another hash',
  reused_from: { job_id: 'job_0', task_id: 'task_0' },
};

export const workerRow: WorkerRow = {
  id: 'worker_1',
  name: null,
  principal: 'lab',
  session: 3,
  status: 'alive',
  state: 'busy',
  registered_at: 1,
  last_seen_at: 2.5,
  labels: { site: 'a', __proto__x: 'y' },
  capabilities: { memory_gb: 15.5, deep: { list: [1, null] } },
  version: { python: '3.11', packages: { numpy: '2.0' } },
  slots_total: 4,
  slots_used: 2,
  suspended: 'its disk is full',
  leaving: 'draining',
  drained: { by: 'olivia', at: 2.5, takes_back_at: null },
};

export const eventRow: EventRow = {
  id: 1,
  job_id: 'job_1',
  task_id: null,
  worker_id: 'worker_1',
  ts: 1764278465.123001,
  level: 'info',
  type: 'log',
  message: 'Größe "x"\n',
  data: { value: 0.1 + 0.2 },
};

/** A turn that changed nothing. */
export const nothing = (): Changes =>
  ({ ...Object.fromEntries(LIST_NAMES.map((name) => [name, []])), further: [] }) as unknown as Changes;

/** A turn with rows of every kind that can be new. */
export function aTurnOfEverything(): Changes {
  const plainJob = {
    ...{ note: null, resubmitted_from: null, tags: [], keep: null, error: null, reuse: null },
    ...{
      best_model_artifact_id: null,
      standings: [{ ...jobRow.standings[0], best_model_artifact_id: null }],
    },
  } as Partial<JobRow>;
  const plainTask: Partial<TaskRow> = {
    ...{ not_before: null, avoids: [], pipeline_steps: null, timeout_seconds: null, rank_others: [] },
    ...{ model_artifact_id: null, error: null, content_key: null, reused_from: null },
  };
  const otherJob = { seq: 2, id: 'job_2', created_at: 1764278465.25, idempotency_key: null, num_reused: 0 };
  return {
    ...nothing(),
    requirements: [{ id: 1, signature: 's', document: '{"memory_gb": 1.0}', owner: 'ann', type: 'demo.run' }],
    new_jobs: [jobRow],
    plain_new_jobs: [{ ...jobRow, ...plainJob, ...otherJob }],
    job_requests: [{ job_id: 'job_1', request: '{"type": "demo.run", "x": 1.10}' }],
    job_inputs: [{ job_id: 'job_1', artifact_id: 'art_1' }],
    variants: [{ job_id: 'job_1', variants: '[1.0, 2]' }],
    choices: [{ job_id: 'job_1', chosen: null }],
    new_tasks: [taskRow],
    plain_new_tasks: [{ ...taskRow, ...plainTask, seq: 8, id: 'task_2' }],
    computed: [{ content_key: 'key', version: '1.4', owner: 'ann', task_seq: 7 }],
    registered_workers: [workerRow],
    pauses: [{ kind: 'type', name: 'demo.run', by: 'olivia', at: 2.5 }],
    artifacts: [
      {
        ...{
          id: 'art_1',
          sha256: 'ab',
          kind: 'model',
          path: 'objects/ab',
          size_bytes: 2 ** 40,
          created_at: 1.5,
        },
        ...{ filename: 'm.n4a', metadata: { a: [1, null] }, task_id: 'task_1', orphaned_at: null },
      },
    ],
    task_artifacts: [{ task_id: 'task_1', attempt: 2, role: 'model', artifact_id: 'art_1' }],
    events: [eventRow],
    notifications: [
      {
        id: 1,
        job_id: 'job_1',
        body: '{"type": "job.ended"}',
        created_at: 1,
        attempts: 2,
        error: null,
        next_at: 3.5,
      },
    ],
    minutes: [
      { minute: 29_404_641, submitted: 1, started: 2, succeeded: 3, failed: 4, queued: 5, workers_alive: 6 },
    ],
    tally: [{ id: 1, jobs: { queued: 1 }, tasks: { queued: 2 }, workers: {} }],
  };
}
