import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import type { Turn } from '../turn/turn.ts';

const superseded = (worker: WorkerCell, session: number): ClusterError =>
  new ClusterError(
    'superseded',
    `worker ${worker.id} has registered again: session ${session} is over, the newest is ${worker.row.session}; register as a new worker`,
  );

/**
 * A worker that names its session must be the program that registered last (docs/semantics.md#workers), so that
 * two copies of one state directory never act as one. It is asked before anything counts as a sign of life.
 * @throws ClusterError `superseded`; `unknown_id` for a session that was never opened, as after the restore of an
 * older store: then the program is not superseded, and registers again
 */
export function assertSession(worker: WorkerCell, session: number | undefined): void {
  if (session === undefined || session === worker.row.session) return;
  if (session < worker.row.session) throw superseded(worker, session);
  throw new ClusterError(
    'unknown_id',
    `worker ${worker.id} never opened session ${session} here, its newest is ${worker.row.session}; register again`,
  );
}

/** Nothing more is granted to what still waits under an older session; once the newer one is durable it is refused. */
export function refuseOlderSessions(turn: Turn, worker: WorkerCell): void {
  const { longPolls } = turn.core;
  for (const { ticket, session } of longPolls.leases(worker.id)) {
    if (session === undefined) continue;
    const waiting = longPolls.takeLease(turn, ticket);
    turn.afterCommit(() => waiting?.refuse(superseded(worker, session)));
  }
  const session = longPolls.heartbeatOf(worker.id)?.session;
  if (session === undefined) return;
  const waiting = longPolls.takeHeartbeat(turn, worker.id);
  turn.afterCommit(() => waiting?.refuse(superseded(worker, session)));
}
