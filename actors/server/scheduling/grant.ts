import { setImmediate } from 'node:timers/promises';
import type { LeasedTask } from '../../../gateway/messages.ts';
import { fetchJobPieces } from '../jobs/fetch-job-pieces.ts';
import type { JobPieces } from '../jobs/job-pieces.ts';
import type { TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import type { Turn } from '../turn/turn.ts';
import { hasTimeFor } from './ends.ts';
import { type Share, Shares, sizeOf } from './hand-outs.ts';
import type { WaitingLease } from './long-polls.ts';
import { pathsOf } from './named-paths.ts';
import { leasedTask } from './payload.ts';
import { narrow } from './queueing.ts';

/** Bytes of specifications that one round reads from the store; what more is asked for has its turn in the next. */
const MOST_READ = 16 * 1024 * 1024;
/** Tasks that one round looks at. */
const MOST_PICKED = 2000;

/** Tasks that are leased, or made ready to be sent, without a break: some milliseconds. */
const AT_ONCE = 50;

/** Milliseconds for which the event loop serves nobody else. */
const LONGEST_LOOK_MS = 10;

/** A task, by its place in the queue, for one who waits. */
interface Pick {
  waiting: WaitingLease;
  worker: WorkerCell;
  seq: number;
  /** What it is queued under: a requirement, or an exclusion. */
  key: number;
  priority: number;
}

/** Tasks of which one turn finds out that they name a path that is missing; the next goes on. */
const MOST_LOOKED_AT = 250;

const NOTHING_LOOKED_AT = { narrowed: 0, isMore: false };

/**
 * Matches what is queued with the leases that wait, longest first, as a part of the turn: a lease that answers
 * a waiting worker is in the same commit as what made it possible.
 * @returns whether there is more to look at, in the next turn
 */
export async function grant(turn: Turn): Promise<boolean> {
  // Of a job that names a missing path, more and more tasks are looked at together.
  for (let looked = 0, ahead = 0; looked < MOST_LOOKED_AT; ahead = Math.min(250, ahead * 4 + 8)) {
    const { narrowed, isMore } = await grantRound(turn, ahead);
    if (narrowed === 0) return isMore;
    looked += narrowed;
    turn.hasQueued = true;
  }
  return true;
}

/**
 * @param ahead how many tasks more than it may have are looked at for a worker that lacks a path
 * @returns how many tasks turned out to name a path that is missing where they were to go, and whether there is more to
 *   look at, in the next turn
 */
async function grantRound(turn: Turn, ahead: number): Promise<{ narrowed: number; isMore: boolean }> {
  const { core } = turn;
  if (!turn.hasQueued && turn.wokenWorkers.size === 0) return NOTHING_LOOKED_AT;
  const leases = core.longPolls
    .leases()
    .filter((waiting) => turn.hasQueued || turn.wokenWorkers.has(waiting.worker_id));
  turn.hasQueued = false;
  turn.wokenWorkers.clear();
  // What they look at ahead counts for its owner until it is put back: the others first.
  if (core.queue.gates.limit !== null) leases.sort((a, b) => Number(lacks(core, a)) - Number(lacks(core, b)));
  const picks = await pick(turn, leases, ahead);
  if (picks.length === 0) return NOTHING_LOOKED_AT;
  for (const { waiting } of picks) core.longPolls.takeLease(turn, waiting.ticket);
  const seqs = picks.map(({ seq }) => seq);
  const tasks = await core.directory.fetchQueued(turn.references, seqs);
  const jobs = new Set([...tasks.values()].map(({ row }) => row.job_id));
  const [jobPieces] = await Promise.all([
    fetchJobPieces(turn, jobs, MOST_READ),
    core.directory.fetchJobs(turn.references, jobs),
  ]);
  const shares = new Shares(turn, core.handOuts);
  let narrowed = 0;
  let leftOut = picks.length >= MOST_PICKED;
  for (const [i, { waiting, worker, key, priority, seq }] of picks.entries()) {
    if (i > 0 && i % AT_ONCE === 0) await setImmediate();
    const task = tasks.get(seq);
    if (task?.row.status !== 'queued') {
      core.log.error({ seq }, 'the index of the queue named a task that is not queued');
      continue;
    }
    const pieces = jobPieces.get(task.row.job_id);
    if (!pieces) {
      leftOut = true;
      shares.close(waiting);
    }
    const lacking = pieces && !shares.isClosed(waiting) ? lackedPaths(task, worker, pieces) : [];
    if (lacking.length > 0) {
      narrowed++;
      core.queue.putBack(turn, { key, priority, seq });
      narrow(turn, task, lacking);
    } else if (
      pieces &&
      worker.row.slots_used < worker.row.slots_total &&
      shares.add(waiting, task, sizeOf(pieces, task.row.payload))
    ) {
      core.queue.exclusions.leave(turn, seq);
      leaseTo(turn, task, waiting);
    } else if (core.queue.putBack(turn, { key, priority, seq })) leftOut = true;
  }
  for (const waiting of new Set(picks.map((picked) => picked.waiting))) {
    if (!shares.all.has(waiting)) core.longPolls.returnUnmatched(waiting);
  }
  await handOut(turn, shares.all, jobPieces);
  // Where nobody could be given anything, who reads what is under way makes room.
  return { narrowed, isMore: leftOut && shares.all.size > 0 };
}

/** The paths that a task names and that this worker lacks. */
function lackedPaths(task: TaskCell, worker: WorkerCell, pieces: JobPieces): string[] {
  if (worker.missingPaths.size === 0) return [];
  return pathsOf(pieces, task.row.payload).filter((path) => worker.missingPaths.has(path));
}

const lacks = ({ directory }: Turn['core'], { worker_id }: WaitingLease): boolean =>
  (directory.workers.get(worker_id)?.missingPaths.size ?? 0) > 0;

/** Whether it may be given a task, as far as its slots allow. */
const isGiven = ({ row: { status, drained } }: WorkerCell): boolean => status === 'alive' && drained === null;

/** The next task of the index for each free slot that is waited for; others are served while many look. */
async function pick(turn: Turn, leases: WaitingLease[], ahead: number): Promise<Pick[]> {
  const { core } = turn;
  const picks: Pick[] = [];
  const taken = new Map<string, number>();
  let since = performance.now();
  for (const waiting of leases) {
    if (core.queue.index.size === 0 || picks.length >= MOST_PICKED) break;
    if (performance.now() - since > LONGEST_LOOK_MS) {
      await setImmediate();
      since = performance.now();
    }
    const worker = core.directory.workers.get(waiting.worker_id);
    if (!worker || !isGiven(worker) || !hasTimeFor(worker.row, null, core.clock)) continue;
    const free = worker.row.slots_total - worker.row.slots_used - (taken.get(worker.id) ?? 0);
    const wanted = Math.min(free, waiting.max_tasks);
    const looked = wanted > 0 && worker.missingPaths.size > 0 ? wanted + ahead : wanted;
    for (let n = 0; n < looked; n++) {
      const next = core.queue.take(turn, core.queue.profiles.viewsOf(worker));
      if (!next) break;
      const { key, priority, seq } = next;
      picks.push({ waiting, worker, seq, key, priority });
      if (n < wanted) taken.set(worker.id, (taken.get(worker.id) ?? 0) + 1);
    }
  }
  return picks;
}

function leaseTo(turn: Turn, task: TaskCell, waiting: WaitingLease): void {
  const { clock, measures, settings } = turn.core;
  const lease_expires_at = turn.now + settings.leaseTtl;
  const { updated_at, not_before } = task.row;
  const since = Math.max(waiting.askedAt, updated_at, not_before ?? 0);
  turn.afterCommit(() => measures.leased(clock.now() - since));
  turn.tellTask(task, { type: 'LEASE', worker_id: waiting.worker_id, lease_expires_at });
}

async function handOut(
  turn: Turn,
  granted: ReadonlyMap<WaitingLease, Share>,
  jobPieces: ReadonlyMap<string, JobPieces>,
): Promise<void> {
  const { core } = turn;
  let made = 0;
  for (const [waiting, { tasks, handedOut }] of granted) {
    const leased: LeasedTask[] = [];
    for (const { row } of tasks) {
      if (++made % AT_ONCE === 0) await setImmediate();
      leased.push(
        leasedTask({
          job: core.directory.job(row.job_id).row,
          task: row,
          pieces: jobPieces.get(row.job_id) as JobPieces,
          requirements: core.queue.requirements.document(row.requirement_id),
          principal: waiting.principal,
        }),
      );
    }
    turn.grants.push({ waiting, tasks: leased, handedOut });
  }
}
