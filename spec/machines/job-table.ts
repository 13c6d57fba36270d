import { movesIn, type Table } from './tables.ts';

/**
 * A situation says how the job's other tasks stand: still at work, or all ended so that the event about one
 * task may end the job. When all tasks have been told, it says how all of them stand.
 */
export const JOB_TABLE: Table = {
  states: [
    ...['queued.ready', 'queued.reusing', 'queued.requeuing'],
    ...'running.computing running.expanding running.reusing running.exploring running.refitting'.split(' '),
    ...['cancelling.requeuing', 'cancelling.telling', 'cancelling.stopping'],
    ...['cancelled', 'succeeded', 'failed'],
  ],
  passing: [],
  final: ['cancelled'],
  moves: movesIn(`
    # The first task is leased.
    queued.ready      | TASK_LEASED    |                | running.computing | job_running
    # No worker is left that could run it: it ends without having been leased.
    queued.ready      | TASK_FAILED    | others at work | =                 |
    queued.ready      | TASK_FAILED    | one succeeded  | succeeded         | job_succeeded
    queued.ready      | TASK_FAILED    | others failed  | failed            | job_failed
    # Tasks move without ending: no matter how the others stand.
    running.computing / running.expanding / running.reusing | TASK_LEASED / TASK_STARTED / TASK_REQUEUED | | = |
    running.exploring / running.refitting                   | TASK_LEASED / TASK_STARTED / TASK_REQUEUED | | = |
    # While a job selects, the end of a task may have others follow; \`selection.spec.ts\` says which.
    running.exploring / running.refitting | TASK_SUCCEEDED / TASK_FAILED / TASK_CANCELLED | | = |
    running.exploring / running.refitting | REFIT_ADDED | | =           | refit_queued
    running.expanding | TASK_SUCCEEDED |                | =                 |
    running.expanding | TASK_FAILED    |                | failed            | job_failed
    running.expanding | TASK_CANCELLED |                | cancelled         | job_cancelled
    running.expanding | VARIANTS_ADDED new   |          | running.exploring | variants_found
    running.expanding | VARIANTS_ADDED known |          | running.reusing   | variants_found
    running.reusing   | TASK_SUCCEEDED |                | =                 |
    running.reusing   | BULK_DONE      |                | running.exploring |
    # A task ends while others are at work.
    running.computing | TASK_SUCCEEDED / TASK_FAILED | others at work | =  |
    # The last task ends: succeeded if one succeeded, else failed.
    running.computing | TASK_SUCCEEDED | others failed / one succeeded | succeeded | job_succeeded
    running.computing | TASK_FAILED    | one succeeded  | succeeded         | job_succeeded
    running.computing | TASK_FAILED    | others failed  | failed            | job_failed
    # A task is cancelled by itself, perhaps the last: then the others decide.
    queued.ready / running.computing | TASK_CANCELLED | others at work | =         |
    queued.ready / running.computing | TASK_CANCELLED | one succeeded  | succeeded | job_succeeded
    queued.ready / running.computing | TASK_CANCELLED | others failed  | failed    | job_failed
    # Its tasks are told, one after the other: those that wait are cancelled, those that run are to stop.
    queued.ready / queued.reusing / running.computing / running.expanding | CANCEL | | cancelling.telling |
    running.reusing / running.exploring / running.refitting               | CANCEL | | cancelling.telling |
    cancelling.telling | TASK_CANCELLED |               | =                 |
    # All have been told, and have ended by that: cancelled, even if a task had succeeded before.
    cancelling.telling / cancelling.requeuing / cancelling.stopping | BULK_DONE | all ended | cancelled | job_cancelled
    # Or some are at work still, and the job waits for the last of them.
    cancelling.telling / cancelling.requeuing / cancelling.stopping | BULK_DONE | others at work | cancelling.stopping |
    cancelling.stopping | TASK_CANCELLED | others at work | =               |
    cancelling.stopping | TASK_CANCELLED | others failed / one succeeded | cancelled | job_cancelled
    # Its tasks are told, one after the other, the results that equal ones have; none is leased before the last.
    queued.reusing    | TASK_SUCCEEDED |                | =                 |
    queued.reusing    | BULK_DONE      | all ended      | succeeded         | job_succeeded
    queued.reusing    | BULK_DONE      | others at work | queued.ready      |
    # Manual retry: its failed tasks come back one after the other, and none is leased before the last.
    failed            | RETRY          |                | queued.requeuing  | job_retried
    succeeded         | RETRY          | others failed / one succeeded | queued.requeuing | job_retried
    queued.requeuing  | TASK_REQUEUED  |                | =                 |
    queued.requeuing  | BULK_DONE      |                | queued.ready      |
    # Cancelled in the middle of it, they come back all the same, each to be cancelled at once.
    queued.requeuing  | CANCEL         |                | cancelling.requeuing |
    cancelling.requeuing | TASK_REQUEUED / TASK_CANCELLED | | =              |
  `),
};
