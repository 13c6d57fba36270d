import type { Act } from './acts.ts';
import { TIMES } from './operations.ts';

export interface HttpRequest {
  method: 'POST' | 'PATCH';
  path: string;
  body?: object;
}

/** All tasks but those that are known by their content name this path; a worker may lack it. */
const MISSING = '/data';

/** Of the library, at every worker. */
const VERSION = '1.0';

/** In each of these words all jobs are paused. */
const SCOPES = { all: {}, type: { type: 'demo.run' }, owner: { owner: 'anonymous' } } as const;

/** Requests about what nobody has heard of. */
export const UNKNOWN = {
  report: post('/v1/tasks/task_unknown/complete?worker_id=worker_unknown', { status: 'succeeded' }),
  cancel: post('/v1/jobs/job_unknown/cancel', {}),
  retry: post('/v1/jobs/job_unknown/retry', {}),
  beat: post('/v1/workers/worker_unknown/heartbeat', {}),
  lease: post('/v1/workers/worker_unknown/lease', {}),
};

/** The request that an act is, with ids for names. */
export function requestOf(act: Act, idOf: (name: string) => string): HttpRequest {
  switch (act.act) {
    case 'submit':
      return post('/v1/jobs', jobOf(act));
    case 'register':
      return post('/v1/workers/register', {
        ...(act.worker === null ? {} : { worker_id: idOf(act.worker) }),
        slots_total: act.slots,
        labels: { site: act.site },
        capabilities: { catalog: true },
        version: { packages: { demo: VERSION } },
      });
    case 'lease':
      return post(`/v1/workers/${idOf(act.worker)}/lease`, {
        ...{ max_tasks: act.max, wait_s: act.wait },
        ...(act.session === null ? {} : { session: act.session }),
      });
    case 'report': {
      const attempt = act.attempt === null ? '' : `&attempt=${act.attempt}`;
      const path = `/v1/tasks/${idOf(act.task)}/${act.verb}?worker_id=${idOf(act.worker)}${attempt}`;
      return post(path, reportBody(act));
    }
    case 'progress':
      return post(`/v1/tasks/${idOf(act.task)}/events?worker_id=${idOf(act.worker)}`, { type: 'note' });
    case 'beat': {
      const active = act.active?.map(({ task, ...rest }) => ({ task_id: idOf(task), ...rest }));
      return post(`/v1/workers/${idOf(act.worker)}/heartbeat`, {
        ...(active
          ? { active: active.map((entry) => ({ ...entry, attempt: Math.max(0, entry.attempt) })) }
          : {}),
        wait_s: act.wait,
        ...(act.session === null ? {} : { session: act.session }),
        ...(act.suspended ? { suspended: 'it is not well' } : {}),
      });
    }
    case 'pause':
    case 'resume':
      return post(`/v1/queue/${act.act}`, SCOPES[act.scope]);
    case 'priority':
      return { method: 'PATCH', path: `/v1/jobs/${idOf(act.job)}`, body: { priority: act.priority } };
    case 'drain':
      return post(`/v1/workers/${idOf(act.worker)}/drain`, {});
    case 'undrain':
      return post(`/v1/workers/${idOf(act.worker)}/resume`, {});
    default:
      return post(`/v1/jobs/${idOf(act.job)}/${act.act}`);
  }
}

function post(path: string, body?: object): HttpRequest {
  return { method: 'POST', path, ...(body ? { body } : {}) };
}

function jobOf(act: Extract<Act, { act: 'submit' }>): object {
  const pipeline = (i: number) =>
    act.known ? { kind: 'inline_json', inline: { i } } : { kind: 'path', path: `/p/${i}.yaml` };
  return {
    type: 'demo.run',
    pipelines: Array.from({ length: act.tasks }, (_, i) => pipeline(i)),
    dataset: act.known
      ? { kind: 'catalog', catalog_id: 'corn', sha256: 'c'.repeat(64) }
      : { kind: 'shared_path', path: MISSING },
    priority: act.priority,
    retry: { max_attempts: act.attempts, backoff_seconds: act.patient ? TIMES.backoff : 0 },
    requirements: {
      ...(act.site === null ? {} : { labels: { site: act.site } }),
      ...(act.pinned ? { packages: { demo: `==${VERSION}` } } : {}),
    },
    ...(act.reuse ? { reuse: true } : {}),
    ...(act.limited ? { timeout_seconds: TIMES.timeout } : {}),
    ...(act.key === null ? {} : { idempotency_key: `key ${act.key}` }),
  };
}

function reportBody(act: Extract<Act, { act: 'report' }>): object {
  if (act.verb === 'complete')
    return { status: 'succeeded', metrics: { best_rmse: act.ticket }, demo_version: VERSION };
  if (act.verb === 'start') return {};
  const { ticket, retriable, ill, lacks, givesBack } = act;
  const fault = ill ? 'worker' : 'task';
  return {
    ...{ error: `failure ${ticket}`, retriable, fault },
    ...(lacks && { missing_path: MISSING }),
    ...(givesBack && { reason: 'preempted' }),
  };
}
