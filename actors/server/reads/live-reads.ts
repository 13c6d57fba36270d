import { API_VERSION } from '../../../gateway/version.ts';
import type { MachineName } from '../../../machines/charts/names.ts';
import type { DemandView } from '../../../machines/schema/demand.ts';
import type { ClusterStats, Waiting } from '../../../machines/schema/views.ts';
import { isHeld } from '../../../machines/task/task.ts';
import type { Core } from '../core.ts';
import { hasTimeFor } from '../scheduling/ends.ts';
import { registrationOf } from '../scheduling/exclusions.ts';
import type { Share } from '../scheduling/rounds.ts';
import type { JobRow, PauseRow, TallyRow } from '../store/rows.ts';
import { demandOf } from './demand.ts';

type LiveCore = Pick<Core, 'clock' | 'hearing' | 'settings' | 'directory' | 'queue' | 'counters'>;

/**
 * What is known in memory and never read from the store: who lives, the tally, deadlines that heartbeats move. All of
 * it as it is committed: what a turn that goes on has done may still be undone.
 */
export class LiveReads {
  readonly #core: LiveCore;
  readonly #supervisorState: () => string;

  constructor(core: LiveCore, supervisorState: () => string) {
    this.#core = core;
    this.#supervisorState = supervisorState;
  }

  /** When the leases of tasks expire as things stand: seconds since the epoch, by task id. */
  leases(taskIds: readonly string[]): Record<string, number> {
    const { directory, clock, hearing } = this.#core;
    const leases: Record<string, number> = {};
    for (const id of taskIds) {
      const task = directory.tasks.get(id);
      const leaseEndsAt = task?.settledSoft.leaseEndsAt ?? null;
      if (!task?.committed || !isHeld(task.committed) || leaseEndsAt === null) continue;
      const at = clock.now() + leaseEndsAt - hearing.monotonic();
      leases[id] = Math.round(at * 1000) / 1000;
    }
    return leases;
  }

  /** Seconds since the epoch. */
  get now(): number {
    return this.#core.clock.now();
  }

  requirements(id: number): string {
    return this.#core.queue.requirements.document(id);
  }

  /** When a worker in memory was last heard: seconds since the epoch, newer than in its row. */
  lastSeenAt(workerId: string): number | undefined {
    return this.#core.directory.workers.get(workerId)?.settledSoft.lastSeenAt;
  }

  /** Of the server. */
  get version(): string {
    return this.#core.settings.version;
  }

  demand(): Promise<DemandView> {
    return demandOf(this.#core);
  }

  stats(): ClusterStats {
    const { gates, share } = this.#core.queue;
    return statsOf(this.#core.counters, gates.settledPauses(), share, this.version);
  }

  /**
   * State ids of a machine to how many actors are in them; empty for machines that run inside the workers. Where the
   * running jobs are below their status is asked of the store.
   */
  stateCounts(machine: MachineName): Record<string, number> {
    const { counters, directory } = this.#core;
    if (machine === 'job') return jobCounts(counters.jobs, directory.jobs.values());
    // It is asked of none but the one that leads.
    if (machine === 'reign') return { 'reign.leading': 1 };
    if (machine === 'supervisor') return { [`supervisor.${this.#supervisorState()}`]: 1 };
    if (machine !== 'task' && machine !== 'worker') return {};
    const cells = machine === 'task' ? directory.tasks.values() : directory.workers.values();
    const counts = prefixed(machine, machine === 'task' ? counters.tasks : counters.workers);
    for (const { committed } of cells) count(counts, machine, committed);
    return counts;
  }

  /** The paths that some worker is known to lack. */
  missingPaths(): Set<string> {
    const paths = new Set<string>();
    for (const { settledSoft } of this.#core.directory.workers.values())
      for (const path of settledSoft.missingPaths) paths.add(path);
    return paths;
  }

  /**
   * Why a queued task waits (docs/protocol.md#views-of-jobs-and-tasks): what keeps live workers from it, and how many
   * each. Beside what it requires that may be `backoff` (it waits after a failure), `worker_fault` (it avoids workers
   * that reported a fault of their own for it), `path=…` (it is missing there), `suspended` (the worker asks for no
   * tasks at present), `ends_too_early` (it has not the time that the task is expected to take), `paused`, `paused.type=…`, `paused.owner=…` and `owner_limit` (nobody is given it), `draining` (it was told to end), `drained` (by an operator), and `slots` where all that are left are full.
   */
  waitingFor({ requirement, avoids, paths, backoff, seconds }: WaitingTask): Waiting[] {
    const { clock, queue } = this.#core;
    const { gates, requirements } = queue;
    const shut = gates.whyWaits(requirements.laneOf(requirement));
    const missing = new Map<string, number>();
    if (shut !== null) missing.set(shut, this.#core.counters.workers.alive ?? 0);
    const count = (reason: string) => missing.set(reason, (missing.get(reason) ?? 0) + 1);
    let left = 0;
    let full = 0;
    for (const { committed: worker, settledSoft } of this.#core.directory.workers.values()) {
      if (worker?.status !== 'alive') continue;
      const reasons = this.#core.queue.profiles.unmetBy(requirement, worker);
      if (reasons.length === 0) {
        if (backoff) reasons.push('backoff');
        if (avoids.includes(registrationOf(worker))) reasons.push('worker_fault');
        for (const path of paths) if (settledSoft.missingPaths.has(path)) reasons.push(`path=${path}`);
        if (!hasTimeFor(worker, seconds, clock)) reasons.push('ends_too_early');
        if (worker.suspended !== null) reasons.push('suspended');
        if (worker.leaving !== null) reasons.push('draining');
        if (worker.drained !== null) reasons.push('drained');
      }
      reasons.forEach(count);
      if (reasons.length > 0) continue;
      left++;
      if (worker.slots_used >= worker.slots_total) full++;
    }
    const waiting = [...missing].map(([requirement, workers_missing]) => ({ requirement, workers_missing }));
    if (left > 0 && left === full) waiting.push({ requirement: 'slots', workers_missing: full });
    return waiting;
  }
}

/** Members that a server which stands by has in its own way. */
export type Live = { readonly [Name in keyof LiveReads]: LiveReads[Name] };

/** The numbers of the cluster, of what is counted in every turn. */
export const statsOf = (
  { jobs, tasks, workers }: Pick<TallyRow, 'jobs' | 'tasks' | 'workers'>,
  paused: PauseRow[],
  share: Share,
  version: string,
): ClusterStats => ({
  share,
  paused,
  server_version: version,
  api_version: API_VERSION,
  jobs_by_status: { ...jobs },
  tasks_by_status: { ...tasks },
  tasks_in_flight: (tasks.leased ?? 0) + (tasks.running ?? 0),
  workers_alive: workers.alive ?? 0,
  workers_dead: workers.dead ?? 0,
});

/** What a queued task waits for, beside a free slot. */
export interface WaitingTask {
  requirement: number;
  avoids: readonly string[];
  /** Those that it names and that some worker lacks. */
  paths: readonly string[];
  /** Whether it must not be leased yet. */
  backoff: boolean;
  /** How long it is expected to take; null where that is not known. */
  seconds: number | null;
}

const prefixed = (machine: string, counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([status, n]) => [`${machine}.${status}`, n]));

/** Of the jobs that have a state below their status, all are in memory but those that run, or wait to be leased. */
function jobCounts(
  tallied: Readonly<Record<string, number>>,
  jobs: Iterable<{ committed: Readonly<JobRow> | null }>,
): Record<string, number> {
  const counts = prefixed('job', tallied);
  for (const { committed } of jobs)
    if (committed?.state !== 'ready' && committed?.status !== 'running') count(counts, 'job', committed);
  const others = Object.entries(counts).filter(([id]) => id.startsWith('job.queued.'));
  const ready = (tallied.queued ?? 0) - others.reduce((sum, [, n]) => sum + n, 0);
  return ready > 0 ? { ...counts, 'job.queued.ready': ready } : counts;
}

/** Counts the states below a status; the tally knows only the statuses. */
function count(
  counts: Record<string, number>,
  machine: string,
  row: { status: string; state: string | null } | null,
): void {
  if (!row?.state) return;
  const id = `${machine}.${row.status}.${row.state}`;
  counts[id] = (counts[id] ?? 0) + 1;
}
