import { type Static, Type } from 'typebox';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { Ok } from '../../../machines/schema/report.ts';
import { PauseView, TaskStatus, WorkerView } from '../../../machines/schema/views.ts';
import { DrainRequest } from '../../../machines/schema/worker.ts';
import { json, StreamedReply } from '../route.ts';

const Scope = Type.Object({
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'jobs of this type' })),
  owner: Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description: 'jobs of this owner' })),
});

const Paused = Type.Object({ paused: Type.Array(PauseView) });

/** @throws ClusterError `invalid_body` for two at once */
function scopeOf({ type, owner }: Static<typeof Scope>): Pick<PauseView, 'kind' | 'name'> {
  if (type !== undefined && owner !== undefined) {
    throw ClusterError.invalid('scope', [{ path: '/owner', message: 'name a type or an owner, not both' }]);
  }
  if (type !== undefined) return { kind: 'type', name: type };
  return owner === undefined ? { kind: 'all', name: '' } : { kind: 'owner', name: owner };
}

const scopeNote = ({ type, owner }: Static<typeof Scope>) => ({
  ...(type !== undefined && { type }),
  ...(owner !== undefined && { owner }),
});

const TaskMoved = Type.Object({ task_id: Type.String(), job_id: Type.String(), status: TaskStatus });

/** What operators do to what others have registered and submitted. */
export const operate = {
  pauseQueue: json({
    method: 'post',
    path: '/v1/queue/pause',
    summary: 'Lease nothing more: of all jobs, of a type, or of an owner; what runs goes on',
    right: 'admin',
    tag: 'cluster',
    body: Scope,
    reply: Paused,
    run: async ({ backend, principal, body, note }) => {
      note(scopeNote(body));
      return backend.send({ type: 'pause_queue', principal, ...scopeOf(body) });
    },
  }),
  resumeQueue: json({
    method: 'post',
    path: '/v1/queue/resume',
    summary: 'Lease again what was paused in the same words',
    right: 'admin',
    tag: 'cluster',
    body: Scope,
    reply: Paused,
    errors: ['illegal_transition'],
    run: async ({ backend, principal, body, note }) => {
      note(scopeNote(body));
      return backend.send({ type: 'resume_queue', principal, ...scopeOf(body) });
    },
  }),
  cancelTask: json({
    method: 'post',
    path: '/v1/tasks/{id}/cancel',
    summary: 'Cancel one task; its job goes on with the others',
    right: 'cancel',
    tag: 'jobs',
    body: Type.Object({}),
    reply: TaskMoved,
    errors: ['unknown_id', 'illegal_transition'],
    run: async ({ backend, principal, params, note }) => {
      const moved = await backend.send({ type: 'cancel_task', principal, task_id: params.id as string });
      note({ job_id: moved.job_id, task_id: moved.task_id });
      return moved;
    },
  }),
  requeueTask: json({
    method: 'post',
    path: '/v1/tasks/{id}/requeue',
    summary: 'Take a task from the worker that has it and queue it again; no attempt is spent',
    right: 'cancel',
    tag: 'jobs',
    body: Type.Object({}),
    reply: TaskMoved,
    errors: ['unknown_id', 'illegal_transition'],
    run: async ({ backend, principal, params, note }) => {
      const moved = await backend.send({ type: 'requeue_task', principal, task_id: params.id as string });
      note({ job_id: moved.job_id, task_id: moved.task_id });
      return moved;
    },
  }),
  getWorker: json({
    method: 'get',
    path: '/v1/workers/{id}',
    summary: 'One registered worker',
    right: 'read',
    tag: 'cluster',
    reply: WorkerView,
    errors: ['unknown_id'],
    run: ({ backend, params }) => new StreamedReply(backend.reads.worker(params.id as string)),
  }),
  drainWorker: json({
    method: 'post',
    path: '/v1/workers/{id}/drain',
    summary: 'Give a worker no more tasks; it finishes those that it has, or gives them back after a time',
    right: 'admin',
    tag: 'cluster',
    body: DrainRequest,
    reply: WorkerView,
    errors: ['unknown_id'],
    run: async ({ backend, principal, params, body: { timeout_s }, note }) => {
      const worker = params.id as string;
      const { worker_id } = await backend.send({
        type: 'drain_worker',
        principal,
        worker_id: worker,
        timeout_s,
      });
      note({ worker_id, ...(timeout_s !== undefined && { timeout_s }) });
      return new StreamedReply(backend.reads.worker(worker_id));
    },
  }),
  resumeWorker: json({
    method: 'post',
    path: '/v1/workers/{id}/resume',
    summary: 'Give a worker that was drained tasks again',
    right: 'admin',
    tag: 'cluster',
    body: Type.Object({}),
    reply: WorkerView,
    errors: ['unknown_id', 'illegal_transition'],
    run: async ({ backend, principal, params, note }) => {
      const worker = params.id as string;
      const { worker_id } = await backend.send({ type: 'resume_worker', principal, worker_id: worker });
      note({ worker_id });
      return new StreamedReply(backend.reads.worker(worker_id));
    },
  }),
  removeWorker: json({
    method: 'delete',
    path: '/v1/workers/{id}',
    summary: 'Forget a worker that has gone; what it was believed to have is queued again',
    right: 'admin',
    tag: 'cluster',
    reply: Ok,
    errors: ['unknown_id', 'illegal_transition'],
    run: async ({ backend, principal, params, note }) => {
      const worker = params.id as string;
      const { worker_id } = await backend.send({ type: 'remove_worker', principal, worker_id: worker });
      note({ worker_id });
      return { ok: true };
    },
  }),
};
