import type { Table } from './tables.ts';

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
    { from: 'running.reusing', event: 'BULK_DONE', to: 'running.exploring' },
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
    // A task is cancelled by itself, perhaps the last: then the others decide.
    ...['queued.ready', 'running.computing'].flatMap((from) => [
      { from, event: 'TASK_CANCELLED', situation: 'others at work', to: from },
      {
        from,
        event: 'TASK_CANCELLED',
        situation: 'one succeeded',
        to: 'succeeded',
        emits: ['job_succeeded'],
      },
      { from, event: 'TASK_CANCELLED', situation: 'others failed', to: 'failed', emits: ['job_failed'] },
    ]),
    ...['running.exploring', 'running.refitting'].map((from) => ({
      from,
      event: 'TASK_CANCELLED',
      to: from,
    })),
    { from: 'running.expanding', event: 'TASK_CANCELLED', to: 'cancelled', emits: ['job_cancelled'] },
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
      event: 'BULK_DONE',
      situation: 'all ended',
      to: 'cancelled',
      emits: ['job_cancelled'],
    },
    // Or some are at work still, and the job waits for the last of them.
    {
      from: ['cancelling.telling', 'cancelling.requeuing', 'cancelling.stopping'],
      event: 'BULK_DONE',
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
      event: 'BULK_DONE',
      situation: 'all ended',
      to: 'succeeded',
      emits: ['job_succeeded'],
    },
    { from: 'queued.reusing', event: 'BULK_DONE', situation: 'others at work', to: 'queued.ready' },
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
    { from: 'queued.requeuing', event: 'BULK_DONE', to: 'queued.ready' },
    // Cancelled in the middle of it, they come back all the same, each to be cancelled at once.
    { from: 'queued.requeuing', event: 'CANCEL', to: 'cancelling.requeuing' },
    {
      from: 'cancelling.requeuing',
      event: ['TASK_REQUEUED', 'TASK_CANCELLED'],
      to: 'cancelling.requeuing',
    },
  ],
};
