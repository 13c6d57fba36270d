import { type Static, Type } from 'typebox';
import { OUTPUT } from '../../../machines/protocol/artifact-roles.ts';
import { digestEvent, digestFailure, digestReport, digestResult } from '../../../machines/report/digest.ts';
import { DirectUpload, DirectUploadReply } from '../../../machines/schema/direct-upload.ts';
import { LeaseReply } from '../../../machines/schema/lease.ts';
import {
  EventReport,
  FailReply,
  FailReport,
  Holder,
  MaybeHolder,
  Ok,
  PREEMPTED,
  type ReportedEvent,
  TaskReports,
  TaskReportsReply,
  TaskResult,
} from '../../../machines/schema/report.ts';
import { ArtifactUploaded } from '../../../machines/schema/views.ts';
import {
  HeartbeatReply,
  HeartbeatRequest,
  LeaseRequest,
  WorkerRegistered,
  WorkerRegistration,
} from '../../../machines/schema/worker.ts';
import { activeTasks, digestHeartbeat } from '../../../machines/worker/active-list.ts';
import type { MessageOf } from '../../messages.ts';
import { type Call, json, type UploadedBlob, upload } from '../route.ts';
import { uploadDirectly } from './direct-upload.ts';
import { leasedIn, leaseReply } from './lease-answer.ts';
import { sendReports } from './reports.ts';

/** Longest time, in seconds, that a lease request may wait. */
const MAX_LEASE_WAIT = 60;

const REPORT_ERRORS = [
  'unknown_id',
  'not_owner',
  'illegal_transition',
  'not_holder',
  'stale_attempt',
] as const;

/** What an output is, and who has it. */
const Output = Type.Object({
  role: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: OUTPUT })),
  kind: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: 'blob' })),
  ...MaybeHolder.properties,
});

export const workers = {
  registerWorker: json({
    method: 'post',
    path: '/v1/workers/register',
    summary: 'Register a worker, or take up a registration again',
    right: 'execute',
    tag: 'workers',
    body: WorkerRegistration,
    reply: WorkerRegistered,
    errors: ['not_owner'],
    run: async ({ backend, principal, body }) => {
      const registered = await backend.send({ type: 'register_worker', principal, registration: body });
      return { ...registered, rights: [...principal.rights], accepts: ['report_files', PREEMPTED] };
    },
  }),
  heartbeat: json({
    method: 'post',
    path: '/v1/workers/{id}/heartbeat',
    summary: 'Keep-alive; renews leases and tells which tasks to stop',
    waits: true,
    right: 'execute',
    tag: 'workers',
    body: HeartbeatRequest,
    digest: digestHeartbeat,
    reply: HeartbeatReply,
    errors: ['unknown_id', 'not_owner', 'superseded'],
    run: (call) =>
      call.backend.send({
        type: 'heartbeat',
        principal: call.principal,
        worker_id: call.params.id as string,
        active: call.body.active && activeTasks(call.body.active),
        session: call.body.session,
        suspended: call.body.suspended,
        leaving: call.body.leaving,
        ...waiting(call, call.body.wait_s ?? 0),
      }),
  }),
  lease: json({
    method: 'post',
    path: '/v1/workers/{id}/lease',
    summary: 'Claim the next eligible task; long-poll',
    waits: true,
    right: 'execute',
    tag: 'workers',
    body: LeaseRequest,
    reply: LeaseReply,
    errors: ['unknown_id', 'not_owner', 'superseded', 'draining'],
    run: async (call) => {
      const { body } = call;
      const { tasks, handedOut } = await call.backend.send({
        type: 'lease',
        principal: call.principal,
        worker_id: call.params.id as string,
        max_tasks: body.max_tasks ?? 1,
        session: body.session,
        ...waiting(call, Math.min(body.wait_s ?? 0, MAX_LEASE_WAIT)),
      });
      return leaseReply(tasks, { several: body.max_tasks !== undefined, handedOut });
    },
    undelivered: ({ backend, params }, reply) => {
      const leased = leasedIn(reply);
      if (leased.length === 0) return;
      const tasks = leased.map(({ task_id, attempt }) => ({ task_id, attempt }));
      // Should this fail too, the lease expires in its time.
      backend.send({ type: 'lease_undelivered', worker_id: params.id as string, tasks }).catch(() => {});
    },
  }),
  startTask: json({
    method: 'post',
    path: '/v1/tasks/{id}/start',
    summary: 'Mark a leased task running',
    right: 'execute',
    tag: 'tasks',
    query: Holder,
    body: Type.Object({}),
    reply: Ok,
    errors: REPORT_ERRORS,
    run: ({ backend, principal, params, query }) =>
      backend.send({ type: 'start_task', principal, task_id: params.id as string, ...query }),
  }),
  reportEvents: json({
    method: 'post',
    path: '/v1/tasks/{id}/events',
    summary: 'Report progress, log lines and other events',
    right: 'execute',
    tag: 'tasks',
    query: MaybeHolder,
    body: EventReport,
    digest: (body) => eventsOf(body).map(digestEvent),
    reply: Ok,
    errors: REPORT_ERRORS,
    run: ({ backend, principal, params, query, body: events }) =>
      backend.send({ type: 'report_events', principal, task_id: params.id as string, ...query, events }),
  }),
  uploadTaskArtifact: upload({
    method: 'post',
    path: '/v1/tasks/{id}/artifacts',
    summary: 'Upload an output of a task',
    right: 'execute',
    tag: 'tasks',
    query: Output,
    reply: ArtifactUploaded,
    errors: REPORT_ERRORS,
    admit: ({ backend, params }) => backend.reads.assertTask(params.id as string),
    run: (call, blob) => call.backend.send(recordOutput(call, blob)),
  }),
  uploadTaskArtifactDirectly: json({
    method: 'post',
    path: '/v1/tasks/{id}/artifacts/direct',
    summary: 'Upload an output of a task to the object store, past the server',
    right: 'execute',
    tag: 'tasks',
    query: Output,
    body: DirectUpload,
    reply: DirectUploadReply,
    errors: [...REPORT_ERRORS, 'artifact_too_large', 'objects_unavailable'],
    run: async (call) => {
      await call.backend.reads.assertTask(call.params.id as string);
      return uploadDirectly(call.backend, call.body, (blob) => call.backend.send(recordOutput(call, blob)));
    },
  }),
  completeTask: json({
    method: 'post',
    path: '/v1/tasks/{id}/complete',
    summary: 'Report success with the task result',
    right: 'execute',
    tag: 'tasks',
    query: Holder,
    body: TaskResult,
    digest: digestResult,
    reply: Ok,
    errors: REPORT_ERRORS,
    run: ({ backend, principal, params, query, body }) =>
      backend.send({
        type: 'complete_task',
        principal,
        task_id: params.id as string,
        ...query,
        result: body,
      }),
  }),
  failTask: json({
    method: 'post',
    path: '/v1/tasks/{id}/fail',
    summary: 'Report failure; the task is queued again while attempts remain',
    right: 'execute',
    tag: 'tasks',
    query: Holder,
    body: FailReport,
    digest: digestFailure,
    reply: FailReply,
    errors: REPORT_ERRORS,
    run: ({ backend, principal, params, query, body }) =>
      backend.send({ type: 'fail_task', principal, task_id: params.id as string, ...query, failure: body }),
  }),
  reportMany: json({
    method: 'post',
    path: '/v1/tasks/reports',
    summary: 'Many reports in one request, each answered by itself',
    right: 'execute',
    tag: 'tasks',
    body: TaskReports,
    digest: ({ reports }) => reports.map(digestReport),
    reply: TaskReportsReply,
    run: async ({ backend, principal, body }) => ({ results: await sendReports(backend, principal, body) }),
  }),
};

/** The bytes are in the blob store. */
const recordOutput = (
  { principal, params, query }: Pick<Call<Static<typeof Output>, unknown>, 'principal' | 'params' | 'query'>,
  blob: UploadedBlob,
): MessageOf<'record_artifact'> => ({
  ...{ type: 'record_artifact', principal, ...blob, kind: query.kind ?? 'blob' },
  task: {
    task_id: params.id as string,
    role: query.role ?? OUTPUT,
    worker_id: query.worker_id,
    attempt: query.attempt,
  },
});

/** Only who waits has to hear that the client went away: to make a signal costs more than most requests. */
const waiting = (call: { readonly signal: AbortSignal }, wait_s: number) =>
  wait_s > 0 ? { wait_s, signal: call.signal } : { wait_s };

/** A report holds one event, or several under `events`. */
function eventsOf({ events, ...single }: ReportedEvent & { events?: ReportedEvent[] }): ReportedEvent[] {
  return events ?? [single];
}
