import { type Static, Type } from 'typebox';
import { AnyObject, Nullable, Seconds } from './common.ts';
import { ModelRef, Requirements } from './job.ts';
import { DEFAULT_TYPE } from './job-types.ts';
import { ABSENT, NEEDED } from './lenient.ts';
import { Scheduler, Submission } from './views.ts';

/** What a worker gets with a lease. */
export const TaskPayload = Type.Object(
  {
    task_id: Type.String(),
    job_id: Type.String(),
    type: Type.String({ [ABSENT]: DEFAULT_TYPE }),
    attempt: Type.Integer({ [ABSENT]: 1 }),
    max_attempts: Type.Integer(),
    pipeline: Type.Optional(AnyObject),
    model: Type.Optional(ModelRef),
    dataset: AnyObject,
    params: AnyObject,
    outputs: Type.Object({
      export_best_model: Type.Boolean({ [ABSENT]: true }),
      keep_task_workspace: Type.Boolean(),
    }),
    requirements: Requirements,
    timeout_seconds: Nullable(Type.Number()),
    rank_metric: Type.String(),
    lease_expires_at: Seconds,
    scheduler: Scheduler,
    submission: Submission,
    nativePayload: Nullable(AnyObject),
    expand: Type.Optional(
      Type.Object(
        { at_most: Type.Integer() },
        {
          description:
            'the pipelines that the pipeline holds are to be listed, as `variants` of the result; nothing is run',
        },
      ),
    ),
    assignment: Type.Object({
      mode: Type.Literal('server_leased_executor'),
      assigned_by: Type.Literal('server'),
      executor_principal: Type.String(),
      worker_id: Type.String(),
      required_rights: Type.Array(Type.String()),
      granted_rights: Type.Array(Type.String()),
    }),
  },
  { [NEEDED]: ['task_id', 'dataset'] },
);

export const LeaseReply = Type.Object({
  task: Nullable(TaskPayload),
  tasks: Type.Optional(Type.Array(TaskPayload)),
});

export type TaskPayload = Static<typeof TaskPayload>;
export type LeaseReply = Static<typeof LeaseReply>;
