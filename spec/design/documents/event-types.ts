import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './table.ts';

/** What each type of event means, and what its `data` holds beside what is said above the table. */
const ABOUT: Readonly<Record<string, readonly [means: string, data: string]>> = {
  job_submitted: ['a job was accepted', '`num_tasks`, `owner`, `priority`, `reuse`'],
  job_running: ['its first task was leased', '`phase` of a job that selects'],
  job_cancel_requested: ['somebody cancelled it, also where that changes nothing', '`principal`, `status`'],
  job_succeeded: ['it ended, and a task succeeded', '`aggregate`, `best_metric`, `best_task_id`'],
  job_failed: ['it ended, and no task succeeded', '`aggregate`, `error`'],
  job_cancelled: ['it was cancelled, and no task runs any more', '`aggregate`'],
  job_retried: ['its failed tasks are queued again', ''],
  job_changed: [
    'somebody changed what is named beside',
    '`principal`, and of `name`, `note`, `tags`, `priority`, `keep` those that are others now',
  ],
  job_deleted: ['it was deleted', '`principal`, or `flag`: by whom, or why; `status`, `num_tasks`'],
  variants_found: ['the library listed the variants of the pipeline', '`variants`'],
  variant_selected: [
    'of one dataset the best variant is known',
    '`dataset`, `task_id`, `metric`, `value`, `refit`, …',
  ],
  selection_failed: ['of one dataset no variant can be selected', '`dataset`, `error`'],
  refit_queued: ['the task that refits the best variant is queued', '`dataset`, `task_id`'],
  task_leased: ['a worker has it', ''],
  task_started: ['its worker said that it runs', ''],
  task_completed: ['it succeeded', '`metrics`, `rank_value`'],
  task_reused: ['it has the result of an equal task', '`metrics`, `rank_value`, `reused_from`'],
  task_failed: [
    'an attempt failed; `error` in level where it is not tried again',
    '`error`, `fault`, `retriable`, `requeued`, `missing_path`, `traceback`',
  ],
  task_lost: ['its lease expired', ''],
  task_requeued: [
    'it is queued again',
    '`reason`: `failure`, `lease_lapsed`, `undelivered`, `taken_back`, `preempted` or `retry`',
  ],
  task_cancel_requested: ['somebody cancelled this task by itself', '`principal`, `status`'],
  task_requeue_requested: ['somebody has it taken from its worker', '`principal`, `status`'],
  task_cancelled: ['it was cancelled', ''],
  result_cut: ['a part of its result was moved or left out', '`notes`'],
  pipeline_fingerprint_mismatch: [
    'another pipeline was run than the client pinned',
    '`expected`, `reported`',
  ],
  worker_registered: ['a worker registered, for the first time or again', '`labels`, `slots_total`'],
  worker_dead: ['it fell silent', ''],
  worker_alive: ['it is back', ''],
  worker_suspended: ['it asks for no tasks, since it is not well', '`reason`'],
  worker_resumed: ['it asks for tasks again', ''],
  worker_draining: ['it was told to end, and finishes what it has', ''],
  worker_stopped: ['it has ended', ''],
  worker_drain_ordered: [
    'an operator drains it: it is given nothing more, and may keep what it has until then',
    '`principal`, `takes_back_at`',
  ],
  worker_drained: ['it is drained, and has no task any more', '`status`'],
  worker_drain_lifted: ['it is given tasks again', ''],
  worker_removed: ['an operator had it forgotten', ''],
  worker_forgotten: ['it has been gone for long, and its registration is deleted', ''],
  gap: [
    'it stands for events that were deleted; its id is that of the last of them',
    '`from`, `to`, `count`',
  ],
  disk_limit_near: ['the oldest jobs are deleted soon', '`used_bytes`, `limit_bytes`'],
  queue_paused: ['nothing more is leased of the queue, a type or an owner', '`principal`, `kind`, `name`'],
  queue_resumed: ['it is leased again', '`principal`, `kind`, `name`'],
  server_restored: ['the server was restored: what is behind `made_at` is not known here', '`made_at`'],
  version_divergence: ['a peer runs another version', '`role`, `version`, `server_version`'],
};

/** As events are named in the code; messages and emissions that no client sees begin with other words. */
const TYPE =
  /\btype: '((?:job|task|worker|variants?|selection|refit|result|pipeline|version|server|disk|queue)_[a-z_]+|gap)'/g;

/** Every type of event that the server makes itself. */
export function eventTypes(root: string): string {
  const known = Object.keys(ABOUT);
  const found = new Set(sources(root).flatMap((text) => [...text.matchAll(TYPE)].map(([, type]) => type)));
  const untold = [...found].filter((type) => !known.includes(type as string));
  if (untold.length > 0)
    throw new Error(`event types without a word in event-types.ts: ${untold.join(', ')}`);
  const gone = known.filter((type) => !found.has(type));
  if (gone.length > 0)
    throw new Error(`event types in event-types.ts that no code makes: ${gone.join(', ')}`);
  const rows = Object.entries(ABOUT).map(([type, [means, data]]) => [`\`${type}\``, means, data]);
  return [
    'Events of tasks have `attempt` and `max_attempts` in their `data`, those that end a job `num_tasks`, `num_succeeded`',
    'and `num_failed`; `aggregate` is that of the job without `ranking` and `errors`.\n',
    table(['Type', 'Means that', 'Also in `data`'], rows),
  ].join('\n');
}

function sources(root: string): string[] {
  return ['machines', 'actors'].flatMap((floor) =>
    readdirSync(join(root, floor), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, floor, name), 'utf8')),
  );
}
