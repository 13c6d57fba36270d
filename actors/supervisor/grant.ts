import type { LeasedTask } from '../../gateway/messages.ts';
import { JOB_REQUESTS } from '../store/tables.ts';
import type { TaskAddress } from './address.ts';
import { cutDocument, type JobDocument } from './documents.ts';
import type { ParkedLease } from './parking.ts';
import { leasedTask } from './payload.ts';
import type { Turn } from './turn.ts';

interface Pick {
  parked: ParkedLease;
  requirement: number;
  priority: number;
  seq: number;
}

/**
 * Matches what is queued with the leases that wait, longest first, as a part of the turn: a lease that answers
 * a waiting worker is in the same commit as what made it possible.
 */
export async function grant(turn: Turn): Promise<void> {
  const { core } = turn;
  if (!turn.queuedAny && turn.woken.size === 0) return;
  const waiting = [...core.parking.leases.values()].filter(
    (parked) => turn.queuedAny || turn.woken.has(parked.worker_id),
  );
  const granted = new Map<ParkedLease, TaskAddress[]>();
  const documents = new Map<string, JobDocument>();
  // Usually one round; another when the index named tasks that had left the queue by another way. What was picked
  // beside those goes back first, or who waited longest would get less for it.
  for (let picks = pick(turn, waiting, granted); picks.length > 0; picks = pick(turn, waiting, granted)) {
    for (const { parked } of picks) {
      if (core.parking.removeLease(parked.ticket)) turn.onRollback(() => core.parking.returnLease(parked));
    }
    const fetched = await core.registry.fetchQueued(
      turn.pins,
      picks.map(({ seq }) => seq),
    );
    const jobs = new Set([...fetched.values()].map((task) => task.row.job_id));
    await Promise.all([core.registry.fetchJobs(turn.pins, jobs), fetchDocuments(turn, jobs, documents)]);
    const isQueued = ({ seq }: Pick) => fetched.get(seq)?.row.status === 'queued';
    const allQueued = picks.every(isQueued);
    for (const found of picks.filter(isQueued)) {
      const { parked, requirement, priority, seq } = found;
      if (!allQueued) {
        core.queue.add(requirement, priority, seq);
        continue;
      }
      const task = fetched.get(seq) as TaskAddress;
      leaseTo(turn, task, parked);
      granted.set(parked, [...(granted.get(parked) ?? []), task]);
    }
    for (const { parked } of picks) if (!granted.has(parked)) core.parking.returnLease(parked);
  }
  turn.queuedAny = false;
  turn.woken.clear();
  handOut(turn, granted, documents);
}

/** The next task of the index for each free slot that is waited for. */
function pick(turn: Turn, waiting: ParkedLease[], granted: Map<ParkedLease, TaskAddress[]>): Pick[] {
  const { core } = turn;
  const picks: Pick[] = [];
  const taken = new Map<string, number>();
  for (const parked of waiting) {
    if (core.queue.size === 0) break;
    const worker = core.registry.workers.get(parked.worker_id);
    if (worker?.row.status !== 'alive') continue;
    if (!granted.has(parked) && !core.parking.leases.has(parked.ticket)) continue;
    const free = worker.row.slots_total - worker.row.slots_used - (taken.get(worker.id) ?? 0);
    const wanted = Math.min(free, parked.max_tasks - (granted.get(parked)?.length ?? 0));
    for (let n = 0; n < wanted; n++) {
      const next = core.queue.take((requirement) => core.requirements.isMetBy(requirement, worker));
      if (!next) break;
      turn.onRollback(() => core.queue.add(next.requirement, next.priority, next.seq));
      picks.push({ parked, ...next });
      taken.set(worker.id, (taken.get(worker.id) ?? 0) + 1);
    }
  }
  return picks;
}

function leaseTo(turn: Turn, task: TaskAddress, parked: ParkedLease): void {
  const { core } = turn;
  turn.tellTask(task, {
    type: 'LEASE',
    worker_id: parked.worker_id,
    lease_expires_at: turn.now + core.settings.leaseTtl,
  });
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

/** Brings the specifications of these jobs, from the cache, from this turn, or from the store. */
export async function fetchDocuments(
  turn: Turn,
  jobs: Iterable<string>,
  found = new Map<string, JobDocument>(),
): Promise<Map<string, JobDocument>> {
  const { documents, store } = turn.core;
  const keep = (id: string, document: JobDocument) => {
    found.set(id, document);
    documents.set(id, document);
  };
  const missing: string[] = [];
  for (const id of jobs) {
    if (found.has(id)) continue;
    const request = turn.requestOf(id);
    const known = documents.get(id) ?? (request === undefined ? undefined : cutDocument(request));
    if (known) keep(id, known);
    else missing.push(id);
  }
  for (const { job_id, request } of await store.loadBy(JOB_REQUESTS, 'job_id', missing)) {
    keep(job_id, cutDocument(request));
  }
  const lost = missing.find((id) => !found.has(id));
  if (lost !== undefined) throw new Error(`the specification of job ${lost} is not in the store`);
  return found;
}
