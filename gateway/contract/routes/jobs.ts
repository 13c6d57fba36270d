import { Type } from 'typebox';
import { assertRights, type Principal } from '../../../machines/protocol/rights.ts';
import { Id, Words } from '../../../machines/schema/common.ts';
import { JobSpec, MAX_TASKS } from '../../../machines/schema/job.ts';
import { JobChange } from '../../../machines/schema/job-change.ts';
import { JobCheck } from '../../../machines/schema/job-check.ts';
import {
  ArtifactView,
  EventView,
  JobDeleted,
  JobStatus,
  JobView,
  RankingEntry,
  TaskStatus,
  TaskView,
} from '../../../machines/schema/views.ts';
import { numTasks } from '../../../machines/submission/decompose.ts';
import { digestJob, type JobDigest } from '../../../machines/submission/job-digest.ts';
import { admitJob } from '../../../machines/submission/submission.ts';
import { json, type ServiceFacts, StreamedReply, stream } from '../route.ts';
import { JobListQuery, jobQuery } from './job-query.ts';
import { AfterId, assertGiven, BeforeId, clamp, EVENTS_LIMIT, Limit, limit, Offset, Token } from './query.ts';

const None = Type.Object({});

const Retry = Type.Object({
  task_ids: Type.Optional(
    Type.Array(Id('task'), {
      minItems: 1,
      maxItems: MAX_TASKS,
      description: 'failed tasks of the job; left out: all of them',
    }),
  ),
});

/** A table to be saved, and to be opened by nothing but what opens tables. */
const csvHeaders = (jobId: string) =>
  [
    ['Content-Type', 'text/csv; charset=utf-8; header=present'],
    [
      'Content-Disposition',
      `attachment; filename="ranking-${jobId.replace(/[^\w-]/g, '_').slice(0, 200)}.csv"`,
    ],
    ['X-Content-Type-Options', 'nosniff'],
  ] as const;

/**
 * Refuses what this server does not take, or not of this principal. Results and models of others are what the right to
 * read gives: predictions say no less than the model does.
 */
function admit({ size, reuse, model }: JobDigest, facts: ServiceFacts, principal: Principal): void {
  admitJob(size, facts);
  if (reuse === 'any' || model !== null) assertRights(principal, ['read']);
}

export const jobs = {
  submitJob: json({
    method: 'post',
    path: '/v1/jobs',
    summary: 'Submit a job',
    right: 'submit',
    tag: 'jobs',
    yaml: true,
    body: JobSpec,
    reply: JobView,
    errors: ['python_jobs_disabled', 'idempotency_conflict', 'job_not_ended', 'too_many_tasks'],
    digest: digestJob,
    run: async ({ backend, principal, body, facts, note }) => {
      admit(body, facts, principal);
      const allow_code = facts.allowPythonJobs;
      const { job_id, view } = await backend.send({ type: 'submit_job', principal, job: body, allow_code });
      note({ job_id, tasks: body.size.pipelines * body.size.datasets });
      return view ?? new StreamedReply(backend.reads.job(job_id));
    },
  }),
  checkJob: json({
    method: 'post',
    path: '/v1/jobs/check',
    summary: 'Check a specification as if it were submitted, and count its tasks',
    right: 'submit',
    tag: 'jobs',
    yaml: true,
    body: JobSpec,
    reply: JobCheck,
    errors: ['python_jobs_disabled', 'job_not_ended', 'too_many_tasks'],
    digest: digestJob,
    run: async ({ backend, body, facts, principal }) => {
      admit(body, facts, principal);
      await backend.send({ type: 'check_job', job: body, allow_code: facts.allowPythonJobs });
      const expands = body.settings.selects?.expands ?? false;
      return { num_tasks: expands ? 1 : numTasks(body.matrix), expands, warnings: body.warnings };
    },
  }),
  listJobs: json({
    method: 'get',
    path: '/v1/jobs',
    summary: 'Jobs, newest first',
    right: 'read',
    tag: 'jobs',
    query: JobListQuery,
    reply: Type.Array(JobView),
    run: ({ backend, query, principal }) => new StreamedReply(backend.reads.jobs(jobQuery(query, principal))),
  }),
  getJob: json({
    method: 'get',
    path: '/v1/jobs/{id}',
    summary: 'One job with its aggregate',
    right: 'read',
    tag: 'jobs',
    reply: JobView,
    errors: ['unknown_id'],
    run: ({ backend, params }) => new StreamedReply(backend.reads.job(params.id as string)),
  }),
  getJobRequest: json({
    method: 'get',
    path: '/v1/jobs/{id}/request',
    summary: 'The specification as submitted, numbers as written',
    right: 'read',
    tag: 'jobs',
    reply: JobSpec,
    errors: ['unknown_id'],
    run: ({ backend, params }) => new StreamedReply(backend.reads.jobRequest(params.id as string)),
  }),
  listJobTasks: json({
    method: 'get',
    path: '/v1/jobs/{id}/tasks',
    summary: 'The tasks of a job, in their order',
    right: 'read',
    tag: 'jobs',
    query: Type.Object({
      status: Type.Optional(TaskStatus),
      after_id: Type.Optional(
        Type.String({ minLength: 1, description: 'only tasks behind this one of the job' }),
      ),
      limit: Limit,
    }),
    reply: Type.Array(TaskView),
    errors: ['unknown_id'],
    run: ({ backend, params, query }) =>
      new StreamedReply(backend.reads.tasks({ job_id: params.id as string, ...query })),
  }),
  getJobRanking: json({
    method: 'get',
    path: '/v1/jobs/{id}/ranking',
    summary: 'All succeeded tasks of a job, best first, those without the rank metric last',
    right: 'read',
    tag: 'jobs',
    query: Type.Object({ limit: Limit, offset: Offset, format: Type.Optional(Words(['json', 'csv'])) }),
    reply: Type.Array(RankingEntry),
    text: 'as a table of comma-separated values with `format=csv`',
    textType: 'text/csv',
    errors: ['unknown_id'],
    run: ({ backend, params, query: { format, ...part } }) => {
      const job_id = params.id as string;
      const csv = format === 'csv';
      return new StreamedReply(
        backend.reads.ranking({ job_id, csv, ...part }),
        csv ? csvHeaders(job_id) : [],
      );
    },
  }),
  listJobEvents: json({
    method: 'get',
    path: '/v1/jobs/{id}/events',
    summary: 'The events of a job, oldest first',
    right: 'read',
    tag: 'jobs',
    query: Type.Object({
      after_id: AfterId,
      before_id: BeforeId,
      task_id: Type.Optional(
        Type.String({ minLength: 1, description: 'only events of this task, and the gaps' }),
      ),
      limit: limit(EVENTS_LIMIT),
    }),
    reply: Type.Array(EventView),
    errors: ['unknown_id'],
    run: async ({ backend, params, query }) => {
      await assertGiven(backend.events, query.after_id);
      return new StreamedReply(
        backend.reads.eventList({
          job_id: params.id as string,
          task_id: query.task_id,
          after_id: query.after_id ?? 0,
          before_id: query.before_id,
          limit: clamp(query.limit, EVENTS_LIMIT),
        }),
      );
    },
  }),
  listJobArtifacts: json({
    method: 'get',
    path: '/v1/jobs/{id}/artifacts',
    summary: 'The artifacts of a job',
    right: 'read',
    tag: 'jobs',
    query: Type.Object({
      task_id: Type.Optional(
        Type.String({ minLength: 1, description: 'only those of this task of the job' }),
      ),
    }),
    reply: Type.Array(ArtifactView),
    errors: ['unknown_id'],
    run: ({ backend, params, query }) =>
      new StreamedReply(backend.reads.jobArtifacts({ job_id: params.id as string, ...query })),
  }),
  cancelJob: json({
    method: 'post',
    path: '/v1/jobs/{id}/cancel',
    summary: 'Request the cancellation of a job',
    right: 'cancel',
    tag: 'jobs',
    body: None,
    reply: JobView,
    errors: ['unknown_id'],
    run: async ({ backend, principal, params, note }) => {
      const { job_id } = await backend.send({ type: 'cancel_job', principal, job_id: params.id as string });
      note({ job_id });
      return new StreamedReply(backend.reads.job(job_id));
    },
  }),
  retryJob: json({
    method: 'post',
    path: '/v1/jobs/{id}/retry',
    summary: 'Queue the failed tasks of a job that failed, or succeeded without them, again',
    right: 'submit',
    tag: 'jobs',
    body: Retry,
    reply: JobView,
    errors: ['unknown_id', 'illegal_transition'],
    run: async ({ backend, principal, params, body: { task_ids }, note }) => {
      const job = params.id as string;
      const { job_id } = await backend.send({ type: 'retry_job', principal, job_id: job, task_ids });
      note({ job_id, ...(task_ids && { tasks: task_ids.length }) });
      return new StreamedReply(backend.reads.job(job_id));
    },
  }),
  changeJob: json({
    method: 'patch',
    path: '/v1/jobs/{id}',
    summary:
      'Change a job, an own one or with the right admin any: its name, note, tags, priority, how long it is kept',
    right: 'cancel',
    tag: 'jobs',
    body: JobChange,
    reply: JobView,
    errors: ['unknown_id', 'not_owner', 'illegal_transition'],
    run: async ({ backend, principal, params, body: change, note }) => {
      const job = params.id as string;
      const { job_id } = await backend.send({ type: 'change_job', principal, job_id: job, change });
      const changed = Object.entries(change).filter(([member]) => member in JobChange.properties);
      // A note is long, and for people.
      note({
        job_id,
        ...Object.fromEntries(
          changed.map(([member, value]) => [member, member === 'note' ? '…' : `${value}`]),
        ),
      });
      return new StreamedReply(backend.reads.job(job_id));
    },
  }),
  deleteJob: json({
    method: 'delete',
    path: '/v1/jobs/{id}',
    summary: 'Delete a job that has ended: an own one, or with the right admin any',
    right: 'cancel',
    tag: 'jobs',
    query: Type.Object({
      status: Type.Optional(
        Type.Unsafe<JobStatus>({
          ...JobStatus,
          description: 'only if it is in this state when it is deleted',
        }),
      ),
      ended_before: Type.Optional(
        Type.Number({ description: 'only if it ended before, in seconds since the epoch' }),
      ),
      dry_run: Type.Optional(
        Type.Unsafe<'true' | 'false'>({
          type: 'string',
          enum: ['true', 'false'],
          description: 'whether it is only asked if it would be',
        }),
      ),
    }),
    reply: JobDeleted,
    errors: ['unknown_id', 'not_owner', 'illegal_transition', 'job_kept', 'job_in_use'],
    run: async ({ backend, principal, params, query, note }) => {
      const job_id = params.id as string;
      const dry_run = query.dry_run === 'true';
      const { status, ended_before } = query;
      const reply = await backend.send({
        ...{ type: 'delete_job', principal, job_id, dry_run },
        ...{ status, ended_before },
      });
      note({ job_id, tasks: reply.num_tasks, ...(dry_run && { dry_run: 'true' }) });
      return reply;
    },
  }),
  streamJobEvents: stream({
    method: 'get',
    path: '/v1/jobs/{id}/events/stream',
    summary: 'WebSocket: the events of one job, history first, then live',
    right: 'read',
    tag: 'jobs',
    query: Type.Object({ token: Token, after_id: AfterId }),
    errors: ['unknown_id'],
    of: 'events',
    scope: (params) => params.id,
  }),
};
