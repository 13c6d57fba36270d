import { setImmediate } from 'node:timers/promises';
import type { LeasedTask } from '../../gateway/messages.ts';
import { JOB_REQUESTS } from '../store/tables.ts';
import type { TaskAddress, WorkerAddress } from './address.ts';
import { cutDocument, type JobDocument } from './documents.ts';
import { pathsOf } from './named-paths.ts';
import type { ParkedLease } from './parking.ts';
import { leasedTask } from './payload.ts';
import { narrow } from './queueing.ts';
import type { Turn } from './turn.ts';

/** Milliseconds for which the event loop serves nobody else. */
const LONGEST_LOOK_MS = 10;

/** A task, by its place in the queue, for one who waits. */
interface Pick {
  parked: ParkedLease;
  worker: WorkerAddress;
  seq: number;
  /** What it is queued under: a requirement, or a demand. */
  key: number;
  priority: number;
}

/** Tasks of which one turn finds out that they name a path that is missing; the next goes on. */
const MOST_LOOKED_AT = 250;

/**
 * Matches what is queued with the leases that wait, longest first, as a part of the turn: a lease that answers
 * a waiting worker is in the same commit as what made it possible.
 * @returns whether there is more to look at, in the next turn
 */
export async function grant(turn: Turn): Promise<boolean> {
  // Of a job that names a missing path, more and more tasks are looked at together.
  for (let looked = 0, ahead = 0; looked < MOST_LOOKED_AT; ahead = Math.min(250, ahead * 4 + 8)) {
    const narrowed = await grantRound(turn, ahead);
    if (narrowed === 0) return false;
    looked += narrowed;
    turn.queuedAny = true;
  }
  return true;
}

/**
 * @param ahead how many tasks more than it may have are looked at for a worker that lacks a path
 * @returns how many tasks turned out to name a path that is missing where they were to go
 */
async function grantRound(turn: Turn, ahead: number): Promise<number> {
  const { core } = turn;
  if (!turn.queuedAny && turn.woken.size === 0) return 0;
  const waiting = core.parking
    .leases()
    .filter((parked) => turn.queuedAny || turn.woken.has(parked.worker_id));
  turn.queuedAny = false;
  turn.woken.clear();
  const picks = await pick(turn, waiting, ahead);
  if (picks.length === 0) return 0;
  for (const { parked } of picks) core.parking.takeLease(turn, parked.ticket);
  const seqs = picks.map(({ seq }) => seq);
  const tasks = await core.registry.fetchQueued(turn.pins, seqs);
  const jobs = new Set([...tasks.values()].map(({ row }) => row.job_id));
  const [documents] = await Promise.all([
    fetchDocuments(turn, jobs),
    core.registry.fetchJobs(turn.pins, jobs),
  ]);
  const granted = new Map<ParkedLease, TaskAddress[]>();
  let narrowed = 0;
  for (const picked of picks) {
    const { parked, worker, key, priority, seq } = picked;
    const task = tasks.get(seq);
    if (task?.row.status !== 'queued') {
      core.log.error({ seq }, 'the index of the queue named a task that is not queued');
      continue;
    }
    const lacking = lackedPaths(task, worker, documents);
    if (lacking.length > 0) {
      narrowed++;
      core.queue.add(turn, key, priority, seq);
      narrow(turn, task, lacking);
    } else if (
      worker.row.slots_used < worker.row.slots_total &&
      (granted.get(parked)?.length ?? 0) < parked.max_tasks
    ) {
      core.demands.leave(turn, seq);
      leaseTo(turn, task, parked);
      granted.set(parked, [...(granted.get(parked) ?? []), task]);
    } else core.queue.add(turn, key, priority, seq);
  }
  for (const parked of new Set(picks.map((picked) => picked.parked))) {
    if (!granted.has(parked)) core.parking.returnUnmatched(parked);
  }
  handOut(turn, granted, documents);
  return narrowed;
}

/** The paths that a task names and that this worker lacks. */
function lackedPaths(
  task: TaskAddress,
  worker: WorkerAddress,
  documents: ReadonlyMap<string, JobDocument>,
): string[] {
  if (worker.missing.size === 0) return [];
  const document = documents.get(task.row.job_id) as JobDocument;
  return pathsOf(document, task.row.payload).filter((path) => worker.missing.has(path));
}

/** The next task of the index for each free slot that is waited for; others are served while many look. */
async function pick(turn: Turn, waiting: ParkedLease[], ahead: number): Promise<Pick[]> {
  const { core } = turn;
  const picks: Pick[] = [];
  const taken = new Map<string, number>();
  let since = performance.now();
  for (const parked of waiting) {
    if (core.queue.size === 0) break;
    if (performance.now() - since > LONGEST_LOOK_MS) {
      await setImmediate();
      since = performance.now();
    }
    const worker = core.registry.workers.get(parked.worker_id);
    if (worker?.row.status !== 'alive') continue;
    const free = worker.row.slots_total - worker.row.slots_used - (taken.get(worker.id) ?? 0);
    const wanted = Math.min(free, parked.max_tasks);
    const looked = wanted > 0 && worker.missing.size > 0 ? wanted + ahead : wanted;
    for (let n = 0; n < looked; n++) {
      const next = core.queue.take(turn, core.profiles.viewsOf(worker));
      if (!next) break;
      const { key, priority, seq } = next;
      picks.push({ parked, worker, seq, key, priority });
      if (n < wanted) taken.set(worker.id, (taken.get(worker.id) ?? 0) + 1);
    }
  }
  return picks;
}

function leaseTo(turn: Turn, task: TaskAddress, parked: ParkedLease): void {
  const lease_expires_at = turn.now + turn.core.settings.leaseTtl;
  turn.tellTask(task, { type: 'LEASE', worker_id: parked.worker_id, lease_expires_at });
  turn.leased.add(task);
}

function handOut(
  turn: Turn,
  granted: Map<ParkedLease, TaskAddress[]>,
  documents: ReadonlyMap<string, JobDocument>,
): void {
  const { core } = turn;
  for (const [parked, tasks] of granted) {
    const leased: LeasedTask[] = tasks.map(({ row }) =>
      leasedTask({
        job: core.registry.job(row.job_id).row,
        task: row,
        document: documents.get(row.job_id) as JobDocument,
        requirements: core.requirements.document(row.requirement_id),
        principal: parked.principal,
      }),
    );
    turn.grants.push({ parked, tasks: leased });
  }
}

/** The specifications of these jobs, from the cache, from this turn, or from the store. */
export async function fetchDocuments(turn: Turn, jobs: Iterable<string>): Promise<Map<string, JobDocument>> {
  const { documents, store } = turn.core;
  const found = new Map<string, JobDocument>();
  const missing: string[] = [];
  for (const id of jobs) {
    const request = turn.requestOf(id);
    const known = documents.get(id) ?? (request === undefined ? undefined : cutDocument(request));
    if (known) found.set(id, known);
    else missing.push(id);
  }
  for (const { job_id, request } of await store.loadBy(JOB_REQUESTS, 'job_id', missing)) {
    found.set(job_id, cutDocument(request));
  }
  const lost = missing.find((id) => !found.has(id));
  if (lost !== undefined) throw new Error(`the specification of job ${lost} is not in the store`);
  for (const [id, document] of found) documents.keep(id, document);
  return found;
}
