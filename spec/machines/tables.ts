/**
 * The transition tables of jobs and tasks (docs/semantics.md#jobs, docs/semantics.md#tasks) with what its rules imply,
 * as data; that of jobs is in `job-table.ts`. Whatever a table does not list is refused. `transitions.spec.ts` walks every pair of state and event.
 */

/**
 * One allowed move. Where several states, events or situations are named, the move is the same for each; an
 * event's plain name stands for all of its variants (`FAIL` for `FAIL retriable` and `FAIL final`).
 */
export interface Move {
  from: string | string[];
  event: string | string[];
  /** Only in these situations; absent: in all of the table's. */
  situation?: string | string[];
  to: string;
  /** What is emitted, in order. */
  emits?: string[];
}

export interface Table {
  /** Every state in which the machine can rest, and how it is written in `moves`. */
  states: string[];
  /** States that are left at once, so that no event ever meets them. */
  passing: string[];
  /** States that nothing leaves. */
  final: string[];
  moves: Move[];
}

/**
 * Attempts remain: a lease may follow. None remain: this was the last allowed attempt.
 * A task of a job that is being cancelled is `running.stopping`.
 */
export const TASK_TABLE: Table = {
  states: ['queued', 'leased', 'running.executing', 'running.stopping', 'succeeded', 'failed', 'cancelled'],
  passing: ['lost'],
  final: ['succeeded', 'cancelled'],
  moves: [
    // A worker claims the next eligible task.
    { from: 'queued', event: 'LEASE', to: 'leased', emits: ['lease_started', 'task_leased'] },
    // An equal task succeeded before; what was tried once is computed.
    { from: 'queued', event: 'REUSED', situation: 'never tried', to: 'succeeded', emits: ['task_reused'] },
    // The worker calls start.
    { from: 'leased', event: 'START', to: 'running.executing', emits: ['task_started'] },
    // The answer of the lease never reached the worker.
    { from: 'leased', event: 'UNDELIVERED', to: 'queued', emits: ['task_requeued', 'lease_ended'] },
    // An operator takes it from its worker.
    {
      from: ['leased', 'running.executing'],
      event: 'TAKE_BACK',
      to: 'queued',
      emits: ['task_requeued', 'lease_ended'],
    },
    // Its worker has to end, and gives it back.
    {
      from: ['leased', 'running.executing'],
      event: 'GIVE_BACK',
      to: 'queued',
      emits: ['task_requeued', 'lease_ended'],
    },
    // The worker reports success.
    {
      from: 'running.executing',
      event: 'COMPLETE',
      to: 'succeeded',
      emits: ['task_completed', 'lease_ended'],
    },
    // A failure reported from `leased` counts like one from `running`, and so does a timeout that the worker did
    // not enforce, so that the server does.
    ...[
      { from: ['leased', 'running.executing'], event: 'FAIL retriable' },
      { from: 'running.executing', event: 'TIMEOUT' },
    ].flatMap((failure) => [
      {
        ...failure,
        situation: 'attempts remain',
        to: 'queued',
        emits: ['task_failed', 'task_requeued', 'lease_ended'],
      },
      { ...failure, situation: 'none remain', to: 'failed', emits: ['task_failed', 'lease_ended'] },
    ]),
    // A worker's own fault costs no attempt, and is tried again only where another worker could run the task.
    {
      from: ['leased', 'running.executing'],
      event: 'FAIL elsewhere',
      to: 'queued',
      emits: ['task_failed', 'task_requeued', 'lease_ended'],
    },
    // Elsewhere it fails the task, and so does `retriable: false`, whatever attempts remain.
    {
      from: ['leased', 'running.executing'],
      event: ['FAIL nowhere', 'FAIL final'],
      to: 'failed',
      emits: ['task_failed', 'lease_ended'],
    },
    { from: 'queued', event: 'GIVE_UP', to: 'failed', emits: ['task_failed'] },
    // The worker fell silent: `lost`, which resolves at once.
    {
      from: ['leased', 'running.executing'],
      event: 'LEASE_EXPIRED',
      situation: 'attempts remain',
      to: 'queued',
      emits: ['task_lost', 'task_requeued', 'lease_ended'],
    },
    {
      from: ['leased', 'running.executing'],
      event: 'LEASE_EXPIRED',
      situation: 'none remain',
      to: 'failed',
      emits: ['task_lost', 'task_failed', 'lease_ended'],
    },
    // Job cancelled: what no child process works on ends at once, a running task is told to stop.
    { from: 'queued', event: 'CANCEL', to: 'cancelled', emits: ['task_cancelled'] },
    { from: 'leased', event: 'CANCEL', to: 'cancelled', emits: ['task_cancelled', 'lease_ended'] },
    { from: 'running.executing', event: 'CANCEL', to: 'running.stopping', emits: ['stop_requested'] },
    // However a task ends that was told to stop, it ends cancelled; it is never launched again.
    {
      from: 'running.stopping',
      event: ['COMPLETE', 'FAIL', 'GIVE_BACK', 'LEASE_EXPIRED', 'TIMEOUT', 'TAKE_BACK'],
      to: 'cancelled',
      emits: ['task_cancelled', 'lease_ended'],
    },
    // Manual retry of the job.
    { from: 'failed', event: 'RETRY', to: 'queued', emits: ['task_requeued'] },
  ],
};

/**
 * A situation says how many of the worker's two slots are taken, and whether an operator drains it; below `alive` the
 * state follows from it.
 */
export const WORKER_TABLE: Table = {
  states: [
    ...['alive.idle', 'alive.busy', 'alive.full', 'alive.draining', 'alive.drained'],
    ...['dead', 'removed'],
  ],
  passing: [],
  final: ['removed'],
  moves: [
    { from: 'alive.idle', event: 'TASK_TAKEN', to: 'alive.busy' },
    { from: 'alive.busy', event: 'TASK_TAKEN', to: 'alive.full' },
    { from: 'alive.busy', event: 'TASK_RELEASED', to: 'alive.idle' },
    { from: 'alive.full', event: 'TASK_RELEASED', to: 'alive.busy' },
    // Tasks end while their worker is dead; its slots are counted all the same.
    {
      from: 'dead',
      event: 'TASK_RELEASED',
      situation: ['one taken', 'both taken', 'both taken, drained'],
      to: 'dead',
    },
    {
      from: 'dead',
      event: 'TASK_RELEASED',
      situation: 'one taken, drained',
      to: 'dead',
      emits: ['worker_drained'],
    },
    // One that is drained takes no task, and says so when it has none.
    {
      from: 'alive.draining',
      event: 'TASK_RELEASED',
      situation: 'both taken, drained',
      to: 'alive.draining',
    },
    {
      from: 'alive.draining',
      event: 'TASK_RELEASED',
      situation: 'one taken, drained',
      to: 'alive.drained',
      emits: ['worker_drained'],
    },
    // Death takes no task: the lapse of its lease does.
    {
      from: ['alive.idle', 'alive.busy', 'alive.full', 'alive.draining', 'alive.drained'],
      event: 'HEARTBEAT_MISSED',
      to: 'dead',
      emits: ['worker_dead'],
    },
    // It says that it asks for no tasks at present; or it was told to end, and finishes what it has.
    ...['alive.idle', 'alive.busy', 'alive.full', 'alive.draining', 'alive.drained'].flatMap((alive) => [
      { from: alive, event: 'SUSPEND', to: alive, emits: ['worker_suspended', 'polling_ended'] },
      { from: alive, event: 'DRAIN', to: alive, emits: ['worker_draining', 'polling_ended'] },
    ]),
    // Then it says that it has ended.
    {
      from: ['alive.idle', 'alive.busy', 'alive.full', 'alive.draining', 'alive.drained'],
      event: 'STOP',
      to: 'dead',
      emits: ['worker_stopped', 'polling_ended'],
    },
    // An operator drains it, also while it is not there, and once more with another order.
    {
      from: ['alive.idle', 'alive.drained'],
      event: 'DRAIN_ORDERED',
      to: 'alive.drained',
      emits: ['worker_drain_ordered', 'worker_drained'],
    },
    {
      from: ['alive.busy', 'alive.full', 'alive.draining'],
      event: 'DRAIN_ORDERED',
      to: 'alive.draining',
      emits: ['worker_drain_ordered'],
    },
    {
      from: 'dead',
      event: 'DRAIN_ORDERED',
      situation: ['none taken', 'none taken, drained'],
      to: 'dead',
      emits: ['worker_drain_ordered', 'worker_drained'],
    },
    {
      from: 'dead',
      event: 'DRAIN_ORDERED',
      situation: ['one taken', 'both taken', 'one taken, drained', 'both taken, drained'],
      to: 'dead',
      emits: ['worker_drain_ordered'],
    },
    { from: 'alive.drained', event: 'DRAIN_LIFTED', to: 'alive.idle', emits: ['worker_drain_lifted'] },
    {
      from: 'alive.draining',
      event: 'DRAIN_LIFTED',
      situation: 'one taken, drained',
      to: 'alive.busy',
      emits: ['worker_drain_lifted'],
    },
    {
      from: 'alive.draining',
      event: 'DRAIN_LIFTED',
      situation: 'both taken, drained',
      to: 'alive.full',
      emits: ['worker_drain_lifted'],
    },
    {
      from: 'dead',
      event: 'DRAIN_LIFTED',
      situation: ['none taken, drained', 'one taken, drained', 'both taken, drained'],
      to: 'dead',
      emits: ['worker_drain_lifted'],
    },
    // What has gone and has nothing is forgotten.
    {
      from: 'dead',
      event: 'REMOVE',
      situation: ['none taken', 'none taken, drained'],
      to: 'removed',
      emits: ['worker_removed', 'polling_ended'],
    },
    // Any sign of life brings it back, to where it stood.
    { from: 'dead', event: 'HEARTBEAT', situation: 'none taken', to: 'alive.idle', emits: ['worker_alive'] },
    { from: 'dead', event: 'HEARTBEAT', situation: 'one taken', to: 'alive.busy', emits: ['worker_alive'] },
    { from: 'dead', event: 'HEARTBEAT', situation: 'both taken', to: 'alive.full', emits: ['worker_alive'] },
    {
      from: 'dead',
      event: 'HEARTBEAT',
      situation: 'none taken, drained',
      to: 'alive.drained',
      emits: ['worker_alive'],
    },
    {
      from: 'dead',
      event: 'HEARTBEAT',
      situation: ['one taken, drained', 'both taken, drained'],
      to: 'alive.draining',
      emits: ['worker_alive'],
    },
    // A registration takes an id up again, alive or dead, with the slots that it declares; a drain outlasts it.
    {
      from: ['alive.idle', 'dead'],
      event: 'REGISTER',
      situation: 'none taken',
      to: 'alive.idle',
      emits: ['worker_registered'],
    },
    {
      from: ['alive.busy', 'dead'],
      event: 'REGISTER two slots',
      situation: 'one taken',
      to: 'alive.busy',
      emits: ['worker_registered'],
    },
    {
      from: ['alive.busy', 'dead'],
      event: 'REGISTER one slot',
      situation: 'one taken',
      to: 'alive.full',
      emits: ['worker_registered'],
    },
    {
      from: ['alive.drained', 'dead'],
      event: 'REGISTER',
      situation: 'none taken, drained',
      to: 'alive.drained',
      emits: ['worker_registered'],
    },
    {
      from: ['alive.draining', 'dead'],
      event: 'REGISTER',
      situation: ['one taken, drained', 'both taken, drained'],
      to: 'alive.draining',
      emits: ['worker_registered'],
    },
    // With fewer slots than tasks it stays full until enough of them have ended.
    {
      from: ['alive.full', 'dead'],
      event: 'REGISTER',
      situation: 'both taken',
      to: 'alive.full',
      emits: ['worker_registered'],
    },
  ],
};

/** `recovering → serving ⇄ degraded → draining → stopped`. */
export const SUPERVISOR_TABLE: Table = {
  states: ['recovering', 'serving', 'degraded', 'draining', 'stopped'],
  passing: [],
  final: ['stopped'],
  moves: [
    { from: 'recovering', event: 'RECOVERED', to: 'serving' },
    // Told to stop before it served anybody: there is nothing to drain.
    { from: 'recovering', event: 'DRAIN', to: 'stopped' },
    { from: 'serving', event: 'COMMIT_FAILED', to: 'degraded' },
    { from: 'degraded', event: 'COMMIT_FAILED', to: 'degraded' },
    { from: 'degraded', event: 'COMMITTED', to: 'serving' },
    { from: ['serving', 'degraded'], event: 'DRAIN', to: 'draining' },
    // What is in flight is committed, or not, while it drains.
    { from: 'draining', event: ['COMMITTED', 'COMMIT_FAILED'], to: 'draining' },
    { from: 'draining', event: 'DRAINED', to: 'stopped' },
  ],
};
