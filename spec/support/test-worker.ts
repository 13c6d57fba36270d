import type { LeasedTask } from '../../gateway/messages.ts';
import type { Principal } from '../../machines/protocol/rights.ts';
import { digestResult } from '../../machines/report/digest.ts';
import type { FailReport, TaskResult } from '../../machines/schema/report.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import type { ActiveTask } from '../../machines/schema/worker.ts';
import type { Leaving } from '../../machines/worker/worker.ts';
import type { TestCluster } from './cluster.ts';

/** A worker that does what the test says. */
export class TestWorker {
  readonly cluster: TestCluster;
  readonly id: string;
  readonly principal: Principal;

  constructor(cluster: TestCluster, id: string, principal: Principal) {
    this.cluster = cluster;
    this.id = id;
    this.principal = principal;
  }

  get #who() {
    return { principal: this.principal, worker_id: this.id };
  }

  async lease(max_tasks = 1, wait_s = 0, signal?: AbortSignal): Promise<LeasedTask[]> {
    const asked = this.cluster.port.send({
      type: 'lease',
      ...this.#who,
      wait_s,
      max_tasks,
      ...(signal ? { signal } : {}),
    });
    // On the simulated clock, a request that waits no time is answered when time is looked at.
    if (wait_s === 0) return (await this.#ticking(asked)).tasks;
    return (await asked).tasks;
  }

  async leaseOne(): Promise<LeasedTask> {
    const [task] = await this.lease();
    if (!task) throw new Error('no task was leased');
    return task;
  }

  start({ task_id, attempt }: Held) {
    return this.cluster.port.send({ type: 'start_task', ...this.#who, task_id, attempt });
  }

  complete({ task_id, attempt }: Held, result: Partial<TaskResult> = {}) {
    const full = digestResult({ status: 'succeeded', ...result });
    return this.cluster.port.send({ type: 'complete_task', ...this.#who, task_id, attempt, result: full });
  }

  fail({ task_id, attempt }: Held, failure: Partial<FailReport> = {}) {
    const full = { error: 'it broke', ...failure };
    return this.cluster.port.send({ type: 'fail_task', ...this.#who, task_id, attempt, failure: full });
  }

  /** How clients see it. */
  async view(): Promise<WorkerView> {
    return (await this.cluster.seen.workers()).find(({ id }) => id === this.id) as WorkerView;
  }

  heartbeat(active?: ActiveTask[], wait_s = 0, suspended?: string, leaving?: Leaving) {
    return this.cluster.port.send({
      type: 'heartbeat',
      ...this.#who,
      ...(active ? { active } : {}),
      wait_s,
      suspended,
      leaving,
    });
  }

  /** Leases and starts the next task. */
  async run(): Promise<LeasedTask> {
    const task = await this.leaseOne();
    await this.start(task);
    return task;
  }

  async #ticking<T>(asked: Promise<T>): Promise<T> {
    let open = true;
    const settled = asked.finally(() => {
      open = false;
    });
    settled.catch(() => {});
    while (open) {
      await this.cluster.clock.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return settled;
  }
}

interface Held {
  task_id: string;
  attempt: number;
}
