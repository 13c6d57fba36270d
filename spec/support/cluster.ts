import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { type RunningBackend, startBackend } from '../../actors/server/backend.ts';
import type { S3Location } from '../../actors/server/blobs/s3/location.ts';
import type { SupervisorSettings } from '../../actors/server/core.ts';
import type { Receiver } from '../../actors/server/notify/post.ts';
import type { RetentionSettings } from '../../actors/server/retention/settings.ts';
import type { StoreHooks } from '../../actors/server/store/store.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { LeasedTask, ReplyOf } from '../../gateway/messages.ts';
import { ANONYMOUS, type Principal } from '../../machines/protocol/rights.ts';
import { JobSpec } from '../../machines/schema/job.ts';
import type { JobChange } from '../../machines/schema/job-change.ts';
import { validator } from '../../machines/schema/validate.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import type { WorkerRegistration } from '../../machines/schema/worker.ts';
import { digestJob } from '../../machines/submission/job-digest.ts';
import { SimulatedClock } from './clock.ts';
import { diskFull } from './full-disk.ts';
import { JOB } from './job.ts';
import { temporaryDirectory } from './server.ts';
import { storeOf } from './test-store.ts';
import { TestWorker } from './test-worker.ts';
import { until } from './until.ts';
import { seen } from './views.ts';

/** Seconds; what is deleted is looked for more often than that. */
const STEP = 6 * 3600;

const checkJob = validator(JobSpec);

/** The smallest valid job; give what differs. */
export const job = (differs: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...{ ...JOB, dataset: { kind: 'shared_path', path: '/data/x' } },
  ...differs,
});

/** As what a job that is to be deleted was chosen. */
type OnlyAs = { status?: JobView['status']; ended_before?: number };

/** A cluster state without a gateway, on a simulated clock and a real store. */
export class TestCluster {
  readonly clock = new SimulatedClock();
  readonly faults: StoreHooks = {};
  /** Seconds of the clock in which nobody could be heard. */
  missed = 0;
  readonly stateDir: string;
  /** The address of its store; undefined: it lies in the state directory. */
  readonly store: string | undefined;
  readonly #settings: Partial<SupervisorSettings>;
  /** How long things stay; counts from the next start on. */
  retention: Partial<RetentionSettings> = {};
  #cluster: RunningBackend | null = null;
  /** Where objects lie; counts from the next start on. */
  objects: S3Location | undefined;
  /** Who is told of the ends of jobs; counts from the next start on. */
  notify: Receiver | undefined;
  /** What is logged. */
  readonly log: { level: number; msg: string }[] = [];
  principal: Principal = ANONYMOUS;

  private constructor(stateDir: string, settings: Partial<SupervisorSettings>, store: string | undefined) {
    this.stateDir = stateDir;
    this.store = store;
    this.#settings = settings;
  }

  /** @param store the address of its store, where the specification says which one */
  static async start(
    t: TestContext,
    settings: Partial<SupervisorSettings> = {},
    store?: string,
  ): Promise<TestCluster> {
    const stateDir = await temporaryDirectory(t);
    const cluster = new TestCluster(stateDir, settings, store ?? storeOf(stateDir));
    await cluster.start();
    t.after(() => cluster.stop());
    return cluster;
  }

  async start(): Promise<void> {
    this.#cluster = await startBackend({
      stateDir: this.stateDir,
      objects: this.objects,
      store: this.store,
      log: pino({ level: 'info' }, { write: (line) => this.log.push(JSON.parse(line)) }),
      maxArtifactBytes: 1024 * 1024,
      settings: this.#settings,
      retention: this.retention,
      notify: this.notify,
      clock: this.clock,
      hearing: {
        monotonic: () => this.clock.monotonic() - this.missed,
        timer: (seconds, callback) => this.clock.timer(seconds, callback),
      },
      hooks: this.faults,
    });
  }

  async stop(): Promise<void> {
    await this.#cluster?.stop();
  }

  /** Lets time pass, in steps in which what is to be deleted by then has been. */
  async pass(seconds: number): Promise<void> {
    for (let left = seconds; left > 0; left -= STEP) {
      await this.clock.advance(Math.min(left, STEP));
      await this.settled();
    }
  }

  /** Waits until nothing is written or deleted. */
  async settled(): Promise<void> {
    for (let idle = this.#cluster?.idle; idle; idle = this.#cluster?.idle) await idle;
  }

  /** Stops and starts again on the same state directory. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  get port(): Backend {
    return (this.#cluster as RunningBackend).backend;
  }

  get state(): string {
    return (this.#cluster as RunningBackend).state;
  }

  submit(document: Record<string, unknown> = job(), principal = this.principal): Promise<JobView> {
    const checked = checkJob(document);
    if (!checked.ok) throw new Error(`the test's own job is wrong: ${JSON.stringify(checked.faults)}`);
    const text = JSON.stringify(document);
    const digest = digestJob(checked.value, text);
    return this.#submitted(this.port.send({ type: 'submit_job', principal, job: digest }));
  }

  async #submitted(answer: Promise<ReplyOf<'submit_job'>>): Promise<JobView> {
    const { job_id, view } = await answer;
    return view ?? this.job(job_id);
  }

  async register(registration: WorkerRegistration = {}, principal = this.principal): Promise<TestWorker> {
    const declared = { version: { packages: { demo: '1.0' } }, ...registration };
    const { worker_id } = await this.port.send({
      type: 'register_worker',
      principal,
      registration: declared,
    });
    return new TestWorker(this, worker_id, principal);
  }

  cancel(job_id: string) {
    return this.port.send({ type: 'cancel_job', principal: this.principal, job_id });
  }

  async statuses(jobId: string): Promise<TaskView['status'][]> {
    return (await this.tasks(jobId)).map(({ status }) => status);
  }

  retry(job_id: string, task_ids?: string[]) {
    return this.port.send({ type: 'retry_job', principal: this.principal, job_id, task_ids });
  }

  /** Commits fail as on a full disk, until it is freed. */
  fillDisk(): void {
    this.faults.beforeCommit = async () => {
      throw diskFull();
    };
  }

  freeDisk(): void {
    delete this.faults.beforeCommit;
  }

  /** The store is tried again, and works. */
  servesAgain(): Promise<unknown> {
    this.freeDisk();
    return until('the store is tried again', async () => {
      await this.clock.advance(1);
      return this.state === 'serving';
    });
  }

  pause(kind: 'all' | 'type' | 'owner', name = '') {
    return this.port.send({ type: 'pause_queue', principal: this.principal, kind, name });
  }

  unpause(kind: 'all' | 'type' | 'owner', name = '') {
    return this.port.send({ type: 'resume_queue', principal: this.principal, kind, name });
  }

  cancelTask(task_id: string) {
    return this.port.send({ type: 'cancel_task', principal: this.principal, task_id });
  }

  requeueTask(task_id: string) {
    return this.port.send({ type: 'requeue_task', principal: this.principal, task_id });
  }

  drain(worker_id: string, timeout_s?: number) {
    return this.port.send({ type: 'drain_worker', principal: this.principal, worker_id, timeout_s });
  }

  resume(worker_id: string) {
    return this.port.send({ type: 'resume_worker', principal: this.principal, worker_id });
  }

  remove(worker_id: string) {
    return this.port.send({ type: 'remove_worker', principal: this.principal, worker_id });
  }

  delete(job_id: string, principal = this.principal, dry_run = false, only: OnlyAs = {}) {
    return this.port.send({ type: 'delete_job', principal, job_id, dry_run, ...only });
  }

  change(job_id: string, change: JobChange, principal = this.principal) {
    return this.port.send({ type: 'change_job', principal, job_id, change });
  }

  keep(job_id: string, keep: string | null, principal = this.principal) {
    return this.change(job_id, { keep }, principal);
  }

  /** What clients can read. */
  get seen() {
    return seen(this.port);
  }

  async eventTypes(job_id?: string): Promise<string[]> {
    const events = await this.seen.events({ ...(job_id ? { job_id } : {}), after_id: 0, limit: 5000 });
    return events.map((event) => event.type);
  }

  /** A job as clients see it. */
  async job(job_id: string): Promise<JobView> {
    return this.seen.job(job_id);
  }

  async tasks(job_id: string): Promise<TaskView[]> {
    return this.seen.tasks(job_id);
  }

  async onlyTask(job_id: string) {
    const [task] = await this.tasks(job_id);
    if (!task) throw new Error('the job has no task');
    return task;
  }
}

/** A cluster with one worker. */
export async function withWorker(
  t: TestContext,
  registration?: WorkerRegistration,
  settings?: Partial<SupervisorSettings>,
) {
  const cluster = await TestCluster.start(t, settings);
  return { cluster, worker: await cluster.register(registration) };
}

/** A cluster with a job, and with a worker for it. */
export async function withJob(
  t: TestContext,
  document = job(),
  settings?: Partial<SupervisorSettings>,
  registration?: WorkerRegistration,
) {
  const cluster = await TestCluster.start(t, settings);
  const { id } = await cluster.submit(document);
  return { cluster, id, worker: await cluster.register(registration) };
}

/** A cluster whose worker runs the first task of a job. */
export async function atWork(
  t: TestContext,
  document?: Record<string, unknown>,
  settings?: Partial<SupervisorSettings>,
) {
  const scene = await withJob(t, document, settings);
  return { ...scene, task: await scene.worker.run() };
}

/** Of which job a task is, as its worker is told. */
export const jobIdOf = ({ payload }: LeasedTask) => (payload.parse() as { job_id: string }).job_id;
