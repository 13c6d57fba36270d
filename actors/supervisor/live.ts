import { API_VERSION } from '../../gateway/version.ts';
import type { MachineName } from '../../machines/charts/names.ts';
import { clusterVersion } from '../../machines/matching.ts';
import type { ClusterStats, Waiting, WorkerView } from '../../machines/schema/views.ts';
import type { Core } from './core.ts';
import { isHeld } from './registry.ts';

/** What is known in memory and never read from the store: workers, the tally, deadlines that heartbeats move. */
export class Live {
  readonly #core: Core;
  readonly #supervisorState: () => string;

  constructor(core: Core, supervisorState: () => string) {
    this.#core = core;
    this.#supervisorState = supervisorState;
  }

  /** When the leases of a job's tasks expire as things stand: seconds since the epoch, by task id. */
  leases(jobId: string): Record<string, number> {
    const { registry, clock } = this.#core;
    const leases: Record<string, number> = {};
    for (const task of registry.tasks.values()) {
      const { leaseEndsAt } = task.facts;
      const isOfJob = task.row.job_id === jobId && task.committed !== null && isHeld(task.committed);
      if (!isOfJob || leaseEndsAt === null) continue;
      const at = clock.now() + leaseEndsAt - clock.monotonic();
      leases[task.id] = Math.round(at * 1000) / 1000;
    }
    return leases;
  }

  requirements(id: number): string {
    return this.#core.requirements.document(id);
  }

  workers(): WorkerView[] {
    const views: WorkerView[] = [];
    for (const { committed: row, facts } of this.#core.registry.workers.values()) {
      if (!row) continue;
      const cluster_version = clusterVersion(row.version);
      views.push({
        id: row.id,
        name: row.name,
        status: row.status,
        slots_total: row.slots_total,
        slots_used: row.slots_used,
        last_seen_at: facts.lastSeenAt,
        labels: row.labels,
        capabilities: row.capabilities,
        version: row.version,
        cluster_version,
        version_divergent: cluster_version !== this.#core.settings.version,
        suspended: row.suspended,
      });
    }
    return views;
  }

  stats(): ClusterStats {
    const { jobs, tasks, workers } = this.#core.tally;
    return {
      server_version: this.#core.settings.version,
      api_version: API_VERSION,
      jobs_by_status: { ...jobs },
      tasks_by_status: { ...tasks },
      tasks_in_flight: (tasks.leased ?? 0) + (tasks.running ?? 0),
      workers_alive: workers.alive ?? 0,
      workers_dead: workers.dead ?? 0,
    };
  }

  /** State ids of a machine to how many actors are in them; empty for machines that run inside the workers. */
  stateCounts(machine: MachineName): Record<string, number> {
    const { tally, registry } = this.#core;
    if (machine === 'job') return prefixed('job', tally.jobs);
    if (machine === 'supervisor') return { [`supervisor.${this.#supervisorState()}`]: 1 };
    if (machine !== 'task' && machine !== 'worker') return {};
    const addresses = machine === 'task' ? registry.tasks.values() : registry.workers.values();
    const counts = prefixed(machine, machine === 'task' ? tally.tasks : tally.workers);
    for (const { committed } of addresses) count(counts, machine, committed);
    return counts;
  }

  /** Why a queued task with these requirements waits (contract, "Jobs", `waiting_for`). */
  waitingFor(requirementId: number): Waiting[] {
    const missing = new Map<string, number>();
    let matching = 0;
    let full = 0;
    for (const worker of this.#core.registry.workers.values()) {
      if (worker.row.status !== 'alive') continue;
      const unmet = this.#core.requirements.unmetBy(requirementId, worker.row);
      for (const requirement of unmet) missing.set(requirement, (missing.get(requirement) ?? 0) + 1);
      if (unmet.length > 0) continue;
      matching++;
      if (worker.row.slots_used >= worker.row.slots_total) full++;
    }
    const waiting = [...missing].map(([requirement, workers_missing]) => ({ requirement, workers_missing }));
    if (matching > 0 && matching === full) waiting.push({ requirement: 'slots', workers_missing: full });
    return waiting;
  }
}

const prefixed = (machine: string, counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([status, n]) => [`${machine}.${status}`, n]));

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
