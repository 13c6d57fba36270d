import type { LeasedTask } from '../../gateway/messages.ts';
import { JOB_REQUESTS } from '../store/tables.ts';
import type { TaskAddress } from './address.ts';
import { cutDocument, type JobDocument } from './documents.ts';
import type { ParkedLease } from './parking.ts';
import { leasedTask } from './payload.ts';
import type { Turn } from './turn.ts';

/** A task, by its place in the queue, for one who waits. */
interface Pick {
  parked: ParkedLease;
  seq: number;
}

/**
 * Matches what is queued with the leases that wait, longest first, as a part of the turn: a lease that answers
 * a waiting worker is in the same commit as what made it possible.
 */
export async function grant(turn: Turn): Promise<void> {
  const { core } = turn;
  if (!turn.queuedAny && turn.woken.size === 0) return;
  const waiting = core.parking
    .leases()
    .filter((parked) => turn.queuedAny || turn.woken.has(parked.worker_id));
  turn.queuedAny = false;
  turn.woken.clear();
  const picks = pick(turn, waiting);
  if (picks.length === 0) return;
  for (const { parked } of picks) core.parking.takeLease(turn, parked.ticket);
  const seqs = picks.map(({ seq }) => seq);
  const tasks = await core.registry.fetchQueued(turn.pins, seqs);
  const jobs = new Set([...tasks.values()].map(({ row }) => row.job_id));
  const [documents] = await Promise.all([
    fetchDocuments(turn, jobs),
    core.registry.fetchJobs(turn.pins, jobs),
  ]);
  const granted = new Map<ParkedLease, TaskAddress[]>();
  for (const { parked, seq } of picks) {
    const task = tasks.get(seq);
    if (!task || !leaseTo(turn, task, parked)) {
      core.log.error({ seq }, 'the index of the queue named a task that is not queued');
      continue;
    }
    granted.set(parked, [...(granted.get(parked) ?? []), task]);
  }
  for (const { parked } of picks) if (!granted.has(parked)) core.parking.returnLease(parked);
  handOut(turn, granted, documents);
}

/** The next task of the index for each free slot that is waited for. */
function pick(turn: Turn, waiting: ParkedLease[]): Pick[] {
  const { core } = turn;
  const picks: Pick[] = [];
  const taken = new Map<string, number>();
  for (const parked of waiting) {
    if (core.queue.size === 0) break;
    const worker = core.registry.workers.get(parked.worker_id);
    if (worker?.row.status !== 'alive') continue;
    const free = worker.row.slots_total - worker.row.slots_used - (taken.get(worker.id) ?? 0);
    const wanted = Math.min(free, parked.max_tasks);
    for (let n = 0; n < wanted; n++) {
      const next = core.queue.take(turn, (requirement) => core.requirements.isMetBy(requirement, worker));
      if (!next) break;
      picks.push({ parked, seq: next.seq });
      taken.set(worker.id, (taken.get(worker.id) ?? 0) + 1);
    }
  }
  return picks;
}

function leaseTo(turn: Turn, task: TaskAddress, parked: ParkedLease): boolean {
  const { core } = turn;
  const leased = turn.tellTask(task, {
    type: 'LEASE',
    worker_id: parked.worker_id,
    lease_expires_at: turn.now + core.settings.leaseTtl,
  });
  if (leased) turn.leased.add(task);
  return leased;
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
