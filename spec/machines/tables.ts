/**
 * The transition tables (docs/semantics.md#jobs, docs/semantics.md#tasks) with what their rules imply, as text; that of
 * jobs is in `job-table.ts`. Whatever a table does not list is refused. `transitions.spec.ts` walks every pair of state
 * and event.
 */

/**
 * One allowed move. Where several states, events or situations are named, the move is the same for each; an
 * event's plain name stands for all of its variants (`FAIL` for `FAIL retriable` and `FAIL final`).
 */
export interface Move {
  from: string[];
  event: string[];
  /** Only in these situations; none: in all of the table's. */
  situation: string[];
  /** Null: it stays where it is. */
  to: string | null;
  /** What is emitted, in order. */
  emits: string[];
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

/** Reads lines of `from | event | situation | to | emits`, with `/` between several, `=` for where it is, `#` before words. */
export function movesIn(text: string): Move[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));
  return lines.map((line) => {
    const cells = line.split('|').map((cell) => cell.split(' / ').flatMap((word) => word.trim() || []));
    const [from = [], event = [], situation = [], [to = ''] = [], emits = []] = cells;
    return { from, event, situation, to: to === '=' ? null : to, emits };
  });
}

/**
 * Attempts remain: a lease may follow. None remain: this was the last allowed attempt.
 * A task of a job that is being cancelled is `running.stopping`.
 */
export const TASK_TABLE: Table = {
  states: ['queued', 'leased', 'running.executing', 'running.stopping', 'succeeded', 'failed', 'cancelled'],
  passing: ['lost'],
  final: ['succeeded', 'cancelled'],
  moves: movesIn(`
    # A worker claims the next eligible task.
    queued                     | LEASE          |                 | leased            | lease_started / task_leased
    # An equal task succeeded before; what was tried once is computed.
    queued                     | REUSED         | never tried     | succeeded         | task_reused
    # The worker calls start.
    leased                     | START          |                 | running.executing | task_started
    # The answer of the lease never reached the worker.
    leased                     | UNDELIVERED    |                 | queued            | task_requeued / lease_ended
    # An operator takes it from its worker; or its worker has to end, and gives it back.
    leased / running.executing | TAKE_BACK / GIVE_BACK |          | queued            | task_requeued / lease_ended
    # The worker reports success.
    running.executing          | COMPLETE       |                 | succeeded         | task_completed / lease_ended
    # A failure reported from \`leased\` counts like one from \`running\`, and so does a timeout that the worker did
    # not enforce, so that the server does.
    leased / running.executing | FAIL retriable | attempts remain | queued            | task_failed / task_requeued / lease_ended
    leased / running.executing | FAIL retriable | none remain     | failed            | task_failed / lease_ended
    running.executing          | TIMEOUT        | attempts remain | queued            | task_failed / task_requeued / lease_ended
    running.executing          | TIMEOUT        | none remain     | failed            | task_failed / lease_ended
    # A worker's own fault costs no attempt, and is tried again only where another worker could run the task.
    leased / running.executing | FAIL elsewhere |                 | queued            | task_failed / task_requeued / lease_ended
    # Elsewhere it fails the task, and so does \`retriable: false\`, whatever attempts remain.
    leased / running.executing | FAIL nowhere / FAIL final |      | failed            | task_failed / lease_ended
    queued                     | GIVE_UP        |                 | failed            | task_failed
    # The worker fell silent: \`lost\`, which resolves at once.
    leased / running.executing | LEASE_EXPIRED  | attempts remain | queued            | task_lost / task_requeued / lease_ended
    leased / running.executing | LEASE_EXPIRED  | none remain     | failed            | task_lost / task_failed / lease_ended
    # Job cancelled: what no child process works on ends at once, a running task is told to stop.
    queued                     | CANCEL         |                 | cancelled         | task_cancelled
    leased                     | CANCEL         |                 | cancelled         | task_cancelled / lease_ended
    running.executing          | CANCEL         |                 | running.stopping  | stop_requested
    # However a task ends that was told to stop, it ends cancelled; it is never launched again.
    running.stopping           | COMPLETE / FAIL / GIVE_BACK / LEASE_EXPIRED / TIMEOUT / TAKE_BACK | | cancelled | task_cancelled / lease_ended
    # Manual retry of the job.
    failed                     | RETRY          |                 | queued            | task_requeued
  `),
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
  moves: movesIn(`
    alive.idle     | TASK_TAKEN    |                              | alive.busy     |
    alive.busy     | TASK_TAKEN    |                              | alive.full     |
    alive.busy     | TASK_RELEASED |                              | alive.idle     |
    alive.full     | TASK_RELEASED |                              | alive.busy     |
    # Tasks end while their worker is dead; its slots are counted all the same.
    dead           | TASK_RELEASED | one taken / both taken / both taken, drained | = |
    dead           | TASK_RELEASED | one taken, drained           | =              | worker_drained
    # One that is drained takes no task, and says so when it has none.
    alive.draining | TASK_RELEASED | both taken, drained          | =              |
    alive.draining | TASK_RELEASED | one taken, drained           | alive.drained  | worker_drained
    # Death takes no task: the expiry of its lease does.
    alive.idle / alive.busy / alive.full / alive.draining / alive.drained | HEARTBEAT_MISSED | | dead | worker_dead
    # It says that it asks for no tasks at present; or it was told to end, and finishes what it has.
    alive.idle / alive.busy / alive.full / alive.draining / alive.drained | SUSPEND | | = | worker_suspended / polling_ended
    alive.idle / alive.busy / alive.full / alive.draining / alive.drained | DRAIN   | | = | worker_draining / polling_ended
    # Then it says that it has ended.
    alive.idle / alive.busy / alive.full / alive.draining / alive.drained | STOP | | dead | worker_stopped / polling_ended
    # An operator drains it, also while it is not there, and once more with another order.
    alive.idle / alive.drained | DRAIN_ORDERED |                  | alive.drained  | worker_drain_ordered / worker_drained
    alive.busy / alive.full / alive.draining | DRAIN_ORDERED |    | alive.draining | worker_drain_ordered
    dead           | DRAIN_ORDERED | none taken / none taken, drained | =          | worker_drain_ordered / worker_drained
    dead           | DRAIN_ORDERED | one taken / both taken / one taken, drained / both taken, drained | = | worker_drain_ordered
    alive.drained  | DRAIN_LIFTED  |                              | alive.idle     | worker_drain_lifted
    alive.draining | DRAIN_LIFTED  | one taken, drained           | alive.busy     | worker_drain_lifted
    alive.draining | DRAIN_LIFTED  | both taken, drained          | alive.full     | worker_drain_lifted
    dead           | DRAIN_LIFTED  | none taken, drained / one taken, drained / both taken, drained | = | worker_drain_lifted
    # What has gone and has nothing is forgotten.
    dead           | REMOVE        | none taken / none taken, drained | removed    | worker_removed / polling_ended
    # Any sign of life brings it back, to where it stood.
    dead           | HEARTBEAT     | none taken                   | alive.idle     | worker_alive
    dead           | HEARTBEAT     | one taken                    | alive.busy     | worker_alive
    dead           | HEARTBEAT     | both taken                   | alive.full     | worker_alive
    dead           | HEARTBEAT     | none taken, drained          | alive.drained  | worker_alive
    dead           | HEARTBEAT     | one taken, drained / both taken, drained | alive.draining | worker_alive
    # A registration takes an id up again, alive or dead, with the slots that it declares; a drain outlasts it.
    alive.idle / dead     | REGISTER           | none taken          | alive.idle    | worker_registered
    alive.busy / dead     | REGISTER two slots | one taken           | alive.busy    | worker_registered
    alive.busy / dead     | REGISTER one slot  | one taken           | alive.full    | worker_registered
    alive.drained / dead  | REGISTER           | none taken, drained | alive.drained | worker_registered
    alive.draining / dead | REGISTER | one taken, drained / both taken, drained | alive.draining | worker_registered
    # With fewer slots than tasks it stays full until enough of them have ended.
    alive.full / dead     | REGISTER           | both taken          | alive.full    | worker_registered
  `),
};

/** `recovering → serving ⇄ degraded → draining → stopped`. */
export const SUPERVISOR_TABLE: Table = {
  states: ['recovering', 'serving', 'degraded', 'draining', 'stopped'],
  passing: [],
  final: ['stopped'],
  moves: movesIn(`
    recovering         | RECOVERED     | | serving  |
    # Told to stop before it served anybody: there is nothing to drain.
    recovering         | DRAIN         | | stopped  |
    serving / degraded | COMMIT_FAILED | | degraded |
    degraded           | COMMITTED     | | serving  |
    serving / degraded | DRAIN         | | draining |
    # What is in flight is committed, or not, while it drains.
    draining           | COMMITTED / COMMIT_FAILED | | = |
    draining           | DRAINED       | | stopped  |
  `),
};
