/**
 * The transition tables of jobs and tasks (docs/semantics.md#jobs, docs/semantics.md#tasks) with what its rules imply,
 * as data. Whatever a table does not list is refused. `transitions.spec.ts` walks every pair of state and event.
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
    { from: 'leased', event: 'UNDELIVERED', to: 'queued', emits: ['lease_ended', 'task_requeued'] },
    // The worker reports success.
    {
      from: 'running.executing',
      event: 'COMPLETE',
      to: 'succeeded',
      emits: ['lease_ended', 'task_completed'],
    },
    // A failure reported from `leased` counts like one from `running`.
    {
      from: ['leased', 'running.executing'],
      event: 'FAIL retriable',
      situation: 'attempts remain',
      to: 'queued',
      emits: ['lease_ended', 'task_failed', 'task_requeued'],
    },
    {
      from: ['leased', 'running.executing'],
      event: 'FAIL retriable',
      situation: 'none remain',
      to: 'failed',
      emits: ['lease_ended', 'task_failed'],
    },
    // A worker's own fault costs no attempt, and is tried again only where another worker could run the task.
    {
      from: ['leased', 'running.executing'],
      event: 'FAIL elsewhere',
      to: 'queued',
      emits: ['lease_ended', 'task_failed', 'task_requeued'],
    },
    {
      from: ['leased', 'running.executing'],
      event: 'FAIL nowhere',
      to: 'failed',
      emits: ['lease_ended', 'task_failed'],
    },
    { from: 'queued', event: 'GIVE_UP', to: 'failed', emits: ['task_failed'] },
    // `retriable: false` fails the task whatever attempts remain.
    {
      from: ['leased', 'running.executing'],
      event: 'FAIL final',
      to: 'failed',
      emits: ['lease_ended', 'task_failed'],
    },
    // The worker fell silent: `lost`, which resolves at once.
    {
      from: ['leased', 'running.executing'],
      event: 'LEASE_EXPIRED',
      situation: 'attempts remain',
      to: 'queued',
      emits: ['lease_ended', 'task_lost', 'task_requeued'],
    },
    {
      from: ['leased', 'running.executing'],
      event: 'LEASE_EXPIRED',
      situation: 'none remain',
      to: 'failed',
      emits: ['lease_ended', 'task_lost', 'task_failed'],
    },
    // The worker did not enforce the timeout, so the server does: the attempt fails.
    {
      from: 'running.executing',
      event: 'TIMEOUT',
      situation: 'attempts remain',
      to: 'queued',
      emits: ['lease_ended', 'task_failed', 'task_requeued'],
    },
    {
      from: 'running.executing',
      event: 'TIMEOUT',
      situation: 'none remain',
      to: 'failed',
      emits: ['lease_ended', 'task_failed'],
    },
    // Job cancelled: what no child process works on ends at once, a running task is told to stop.
    { from: 'queued', event: 'CANCEL', to: 'cancelled', emits: ['task_cancelled'] },
    { from: 'leased', event: 'CANCEL', to: 'cancelled', emits: ['lease_ended', 'task_cancelled'] },
    { from: 'running.executing', event: 'CANCEL', to: 'running.stopping', emits: ['stop_requested'] },
    // However a task ends that was told to stop, it ends cancelled; it is never launched again.
    {
      from: 'running.stopping',
      event: ['COMPLETE', 'FAIL', 'LEASE_EXPIRED', 'TIMEOUT'],
      to: 'cancelled',
      emits: ['task_cancelled', 'lease_ended'],
    },
    // Manual retry of the job.
    { from: 'failed', event: 'RETRY', to: 'queued', emits: ['task_requeued'] },
  ],
};

/**
 * A situation says how the job's other tasks stand: still at work, or all ended so that the event about one
 * task may end the job. When all tasks have been told, it says how all of them stand.
 */
export const JOB_TABLE: Table = {
  states: [
    'queued.ready',
    'queued.reusing',
    'queued.requeuing',
    'running.computing',
    'running.expanding',
    'running.reusing',
    'running.exploring',
    'running.refitting',
    'cancelling.requeuing',
    'cancelling.telling',
    'cancelling.stopping',
    'cancelled',
    'succeeded',
    'failed',
  ],
  passing: [],
  final: ['cancelled'],
  moves: [
    // The first task is leased.
    { from: 'queued.ready', event: 'TASK_LEASED', to: 'running.computing', emits: ['job_running'] },
    // No worker is left that could run it: it ends without having been leased.
    { from: 'queued.ready', event: 'TASK_FAILED', situation: 'others at work', to: 'queued.ready' },
    {
      from: 'queued.ready',
      event: 'TASK_FAILED',
      situation: 'one succeeded',
      to: 'succeeded',
      emits: ['job_succeeded'],
    },
    {
      from: 'queued.ready',
      event: 'TASK_FAILED',
      situation: 'others failed',
      to: 'failed',
      emits: ['job_failed'],
    },
    // Tasks move without ending: no matter how the others stand.
    ...['computing', 'expanding', 'reusing', 'exploring', 'refitting'].map((phase) => ({
      from: `running.${phase}`,
      event: ['TASK_LEASED', 'TASK_STARTED', 'TASK_REQUEUED'],
      to: `running.${phase}`,
    })),
    // While a job selects, the end of a task may have others follow; `selection.spec.ts` says which.
    ...['exploring', 'refitting'].map((phase) => ({
      from: `running.${phase}`,
      event: ['TASK_SUCCEEDED', 'TASK_FAILED'],
      to: `running.${phase}`,
    })),
    ...['exploring', 'refitting'].map((phase) => ({
      from: `running.${phase}`,
      event: 'REFIT_ADDED',
      to: `running.${phase}`,
      emits: ['refit_queued'],
    })),
    { from: 'running.expanding', event: 'TASK_SUCCEEDED', to: 'running.expanding' },
    { from: 'running.expanding', event: 'TASK_FAILED', to: 'failed', emits: ['job_failed'] },
    {
      from: 'running.expanding',
      event: 'VARIANTS_ADDED new',
      to: 'running.exploring',
      emits: ['variants_found'],
    },
    {
      from: 'running.expanding',
      event: 'VARIANTS_ADDED known',
      to: 'running.reusing',
      emits: ['variants_found'],
    },
    { from: 'running.reusing', event: 'TASK_SUCCEEDED', to: 'running.reusing' },
    { from: 'running.reusing', event: 'ALL_TOLD', to: 'running.exploring' },
    // A task ends while others are at work.
    {
      from: 'running.computing',
      event: ['TASK_SUCCEEDED', 'TASK_FAILED'],
      situation: 'others at work',
      to: 'running.computing',
    },
    // The last task ends: succeeded if one succeeded, else failed.
    {
      from: 'running.computing',
      event: 'TASK_SUCCEEDED',
      situation: ['others failed', 'one succeeded'],
      to: 'succeeded',
      emits: ['job_succeeded'],
    },
    {
      from: 'running.computing',
      event: 'TASK_FAILED',
      situation: 'one succeeded',
      to: 'succeeded',
      emits: ['job_succeeded'],
    },
    {
      from: 'running.computing',
      event: 'TASK_FAILED',
      situation: 'others failed',
      to: 'failed',
      emits: ['job_failed'],
    },
    // Its tasks are told, one after the other: those that wait are cancelled, those that run are to stop.
    {
      from: [
        'queued.ready',
        'running.computing',
        'running.expanding',
        'running.reusing',
        'running.exploring',
        'running.refitting',
      ],
      event: 'CANCEL',
      to: 'cancelling.telling',
    },
    { from: 'cancelling.telling', event: 'TASK_CANCELLED', to: 'cancelling.telling' },
    // All have been told, and have ended by that: cancelled, even if a task had succeeded before.
    {
      from: ['cancelling.telling', 'cancelling.requeuing', 'cancelling.stopping'],
      event: 'ALL_TOLD',
      situation: 'all ended',
      to: 'cancelled',
      emits: ['job_cancelled'],
    },
    // Or some are at work still, and the job waits for the last of them.
    {
      from: ['cancelling.telling', 'cancelling.requeuing', 'cancelling.stopping'],
      event: 'ALL_TOLD',
      situation: 'others at work',
      to: 'cancelling.stopping',
    },
    {
      from: 'cancelling.stopping',
      event: 'TASK_CANCELLED',
      situation: 'others at work',
      to: 'cancelling.stopping',
    },
    {
      from: 'cancelling.stopping',
      event: 'TASK_CANCELLED',
      situation: ['others failed', 'one succeeded'],
      to: 'cancelled',
      emits: ['job_cancelled'],
    },
    // Its tasks are told, one after the other, the results that equal ones have; none is leased before the last.
    { from: 'queued.reusing', event: 'TASK_SUCCEEDED', to: 'queued.reusing' },
    {
      from: 'queued.reusing',
      event: 'ALL_TOLD',
      situation: 'all ended',
      to: 'succeeded',
      emits: ['job_succeeded'],
    },
    { from: 'queued.reusing', event: 'ALL_TOLD', situation: 'others at work', to: 'queued.ready' },
    { from: 'queued.reusing', event: 'CANCEL', to: 'cancelling.telling' },
    // Manual retry: its failed tasks come back one after the other, and none is leased before the last.
    { from: 'failed', event: 'RETRY', to: 'queued.requeuing', emits: ['job_retried'] },
    {
      from: 'succeeded',
      event: 'RETRY',
      situation: ['others failed', 'one succeeded'],
      to: 'queued.requeuing',
      emits: ['job_retried'],
    },
    { from: 'queued.requeuing', event: 'TASK_REQUEUED', to: 'queued.requeuing' },
    { from: 'queued.requeuing', event: 'ALL_TOLD', to: 'queued.ready' },
    // Cancelled in the middle of it, they come back all the same, each to be cancelled at once.
    { from: 'queued.requeuing', event: 'CANCEL', to: 'cancelling.requeuing' },
    {
      from: 'cancelling.requeuing',
      event: ['TASK_REQUEUED', 'TASK_CANCELLED'],
      to: 'cancelling.requeuing',
    },
  ],
};

/** A situation says how many of the worker's two slots are taken; below `alive` the state follows from it. */
export const WORKER_TABLE: Table = {
  states: ['alive.idle', 'alive.busy', 'alive.full', 'dead'],
  passing: [],
  final: [],
  moves: [
    { from: 'alive.idle', event: 'TASK_TAKEN', to: 'alive.busy' },
    { from: 'alive.busy', event: 'TASK_TAKEN', to: 'alive.full' },
    { from: 'alive.busy', event: 'TASK_RELEASED', to: 'alive.idle' },
    { from: 'alive.full', event: 'TASK_RELEASED', to: 'alive.busy' },
    // Tasks end while their worker is dead; its slots are counted all the same.
    { from: 'dead', event: 'TASK_RELEASED', situation: ['one taken', 'both taken'], to: 'dead' },
    // Death takes no task: the lapse of its lease does.
    {
      from: ['alive.idle', 'alive.busy', 'alive.full'],
      event: 'HEARTBEAT_MISSED',
      to: 'dead',
      emits: ['worker_dead'],
    },
    // It says that it asks for no tasks at present.
    { from: 'alive.idle', event: 'SUSPEND', to: 'alive.idle', emits: ['worker_suspended', 'polling_ended'] },
    { from: 'alive.busy', event: 'SUSPEND', to: 'alive.busy', emits: ['worker_suspended', 'polling_ended'] },
    { from: 'alive.full', event: 'SUSPEND', to: 'alive.full', emits: ['worker_suspended', 'polling_ended'] },
    // It was told to end, and finishes what it has; then it says that it has ended.
    { from: 'alive.idle', event: 'DRAIN', to: 'alive.idle', emits: ['worker_draining', 'polling_ended'] },
    { from: 'alive.busy', event: 'DRAIN', to: 'alive.busy', emits: ['worker_draining', 'polling_ended'] },
    { from: 'alive.full', event: 'DRAIN', to: 'alive.full', emits: ['worker_draining', 'polling_ended'] },
    {
      from: ['alive.idle', 'alive.busy', 'alive.full'],
      event: 'STOP',
      to: 'dead',
      emits: ['worker_stopped', 'polling_ended'],
    },
    // Any sign of life brings it back.
    { from: 'dead', event: 'HEARTBEAT', situation: 'none taken', to: 'alive.idle', emits: ['worker_alive'] },
    { from: 'dead', event: 'HEARTBEAT', situation: 'one taken', to: 'alive.busy', emits: ['worker_alive'] },
    { from: 'dead', event: 'HEARTBEAT', situation: 'both taken', to: 'alive.full', emits: ['worker_alive'] },
    // A registration takes an id up again, alive or dead, with the slots that it declares.
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
