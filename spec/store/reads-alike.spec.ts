import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { checkRows } from '../../actors/server/check/rows.ts';
import { PLACES_OF_ALL } from '../../actors/server/store/postgres/job-places.ts';
import { PostgresStore } from '../../actors/server/store/postgres/postgres-store.ts';
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';
import type { Reads } from '../../gateway/backend.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { RIGHTS } from '../../machines/protocol/rights.ts';
import { JOB_STATUSES, TASK_STATUSES, WORKER_STATUSES } from '../../machines/schema/statuses.ts';
import { job, jobIdOf, TestCluster } from '../support/cluster.ts';
import { ODD_DOUBLES } from '../support/doubles.ts';
import { requires } from '../support/requires.ts';
import { Seeded } from '../support/seeded.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { emptyDatabase, postgres } from './drivers.ts';
import { TwinStore } from './twin-store.ts';

const ANN = { name: 'ann', rights: RIGHTS };
const BOB = { name: 'bob', rights: RIGHTS };
/** Names that a pattern, a quotation or an encoding may trip over. */
const NAMES = ['Calibration 2024', '100 %_sure', 'a "quoted" \\ name', 'Ωmega ÜBER', 'nul\0inside', 'ab'];
const TYPES = ['demo.run', 'other.run'];
const TAGS = ['soil', 'nir', 'ünï'];
const LONG_TEXT = `é🜁"\\\n\u0001${'long '.repeat(30_000)}`;

const inline = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ kind: 'inline_json', inline: { step: i, 'ke"y': '\u2028\0' } }));

/** Starts a cluster whose every store is a twin. */
async function twinCluster(t: Parameters<typeof TestCluster.start>[0]) {
  const open = SqliteStore.open;
  const address = await emptyDatabase();
  const twins: TwinStore[] = [];
  t.mock.method(SqliteStore, 'open', async (...args: Parameters<typeof open>) => {
    const sqlite = await open.apply(SqliteStore, args);
    const twin = new TwinStore(sqlite, await PostgresStore.open(address));
    twins.push(twin);
    return twin;
  });
  const cluster = await TestCluster.start(t);
  const faults = () => twins.flatMap((twin) => twin.faults);
  /** Places of jobs in the lists of PostgreSQL that are missing or others, and those without a job. */
  const misplaced = async () => {
    const [, columns = '', wanted] = /\((.*?)\) (SELECT.*)/s.exec(PLACES_OF_ALL) ?? [];
    const kept = `SELECT ${columns} FROM job_places`;
    const both = `(${wanted} EXCEPT ${kept}) UNION ALL (${kept} EXCEPT ${wanted})`;
    return (await postgres()).query(address, both);
  };
  return { cluster, twin: () => twins.at(-1) as TwinStore, faults, misplaced };
}

/** What a seeded lab does: jobs of several people, and workers that report whatever may be reported. */
class Lab {
  readonly #cluster: TestCluster;
  readonly #random: Seeded;
  readonly jobs: string[] = [];
  readonly artifacts: string[] = [];

  constructor(cluster: TestCluster, random: Seeded) {
    this.#cluster = cluster;
    this.#random = random;
  }

  async submitAll(count: number): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < count; i++) {
      const several = random.chance(0.4);
      const document = job({
        ...{ type: random.pick(TYPES), name: NAMES[i % (NAMES.length + 1)], priority: random.below(3) },
        ...{
          tags: TAGS.filter(() => random.chance(0.5)),
          note: random.chance(0.3) ? LONG_TEXT.slice(0, 900) : undefined,
        },
        ...(several ? { pipeline: undefined, pipelines: inline(random.whole(2, 7)) } : {}),
        ...(random.chance(0.4) ? { rank_metric: ['best_rmse', 'r2', 'other'] } : {}),
        ...(random.chance(0.3) ? { idempotency_key: `key\0${i}` } : {}),
        ...(random.chance(0.3) && this.jobs.length > 0 ? { resubmitted_from: random.pick(this.jobs) } : {}),
        ...{ retry: { max_attempts: random.whole(1, 3) }, reuse: random.pick([false, true, 'any']) },
      });
      const { id } = await this.#cluster.submit(
        JSON.parse(JSON.stringify(document)),
        random.pick([ANN, BOB]),
      );
      this.jobs.push(id);
      // Those of one moment are told apart by microseconds.
      if (random.chance(0.6)) await this.#cluster.clock.advance(random.between(0.001, 20));
    }
  }

  /** Lets a worker take what there is, and end it somehow. */
  async work(worker: TestWorker, tasks: number): Promise<void> {
    for (let i = 0; i < tasks; i++) {
      const [task] = await worker.lease();
      if (!task) return;
      const random = this.#random;
      if (random.chance(0.1)) continue;
      await worker.start(task);
      await this.#cluster.clock.advance(random.between(0.001, 3));
      const { task_id, attempt } = task;
      const { principal } = worker;
      const events = [
        {
          level: 'info' as const,
          type: 'log',
          message: random.chance(0.1) ? LONG_TEXT : `line ${i}\0 \u2028`,
          data: `{"n": 1.0, "big": 12345678901234567890, "s": "\\u0000\\ud800"}`,
        },
        { level: 'warning' as const, type: 'progress', message: 'half', data: '{ "fraction" : 5e-1 }' },
      ];
      await this.#cluster.port.send({
        type: 'report_events',
        principal,
        worker_id: worker.id,
        task_id,
        attempt,
        events,
      });
      const artifacts = random.chance(0.6)
        ? { model: await this.#upload(worker, task_id, attempt, 'model') }
        : {};
      if (random.chance(0.4)) await this.#upload(worker, task_id, attempt, 'logs');
      if (random.chance(0.25)) {
        // Of a text with a NUL SQLite cuts more than it has to.
        const isCut = random.chance(0.2) && !(await this.#cluster.job(jobIdOf(task))).name?.includes('\0');
        const error = isCut ? LONG_TEXT : 'it broke\n\0 "here"';
        await worker.fail(task, {
          error,
          retriable: random.chance(0.5),
          fault: random.pick(['task', 'worker']),
        });
      } else if (random.chance(0.92))
        await worker.complete(task, { artifacts, metrics: this.#metrics() } as never);
    }
  }

  async #upload(worker: TestWorker, task_id: string, attempt: number, role: string): Promise<string> {
    const content = `${role} ${this.artifacts.length % 3}`;
    const { artifact_id } = await this.#cluster.port.send({
      ...{ type: 'record_artifact', principal: worker.principal, kind: role, filename: `${role} "é".bin` },
      ...{ sha256: createHash('sha256').update(content).digest('hex'), size_bytes: content.length },
      task: { task_id, role, worker_id: worker.id, attempt },
    });
    this.artifacts.push(artifact_id);
    return artifact_id;
  }

  #metrics(): Record<string, unknown> {
    const random = this.#random;
    if (random.chance(0.1)) return { unranked: 1, 'a\u2028b': 2.5, text: 'é\u2028' };
    const best_rmse = random.chance(0.3) ? random.pick(ODD_DOUBLES) : random.whole(0, 3) / 4;
    return {
      best_rmse,
      ...(random.chance(0.6) ? { r2: random.next(), other: random.pick([-0, 1e22, 5e-324]) } : {}),
      'q"uote': 0.1,
    };
  }
}

type Asked = { [Name in keyof Reads]?: () => unknown };

/** What is asked of the reads: each of them, with every filter and in pages of several sizes. */
async function* questions(cluster: TestCluster, lab: Lab): AsyncGenerator<Asked> {
  const { reads } = cluster.port;
  const jobs = await cluster.seen.jobs({ limit: 1000 });
  const times = jobs.map(({ created_at }) => created_at);
  const middle = times[Math.floor(times.length / 2)] as number;
  const some = <T extends object>(...list: T[]) => [{}, ...list];
  for (const status of some(...JOB_STATUSES.map((status) => ({ status }))))
    for (const owner of some({ owner: 'ann' }, { owner: 'nobody' }))
      for (const types of some({ types: ['demo.run'] }, { types: TYPES }))
        for (const tags of some({ tags: ['soil'] }, { tags: ['soil', 'ünï'] }))
          yield { jobs: () => reads.jobs({ ...status, ...owner, ...types, ...tags, limit: 7 }) };
  for (const name of ['cal', 'ÜBER', '%_', '"', '\\', 'nul\0in', 'a', 'zzz', 'ab'])
    for (const more of some({ owner: 'bob' }, { created_before: middle }, { created_from: middle }))
      yield { jobs: () => reads.jobs({ name, ...more, limit: 100 }) };
  for (const limit of [1, 2, 5, 1000])
    for (const created_before of [...times, undefined])
      yield {
        jobs: () => reads.jobs({ limit, ...(created_before === undefined ? {} : { created_before }) }),
      };
  for (const kind of ['run', 'predict'] as const) yield { jobs: () => reads.jobs({ kind, limit: 10 }) };
  for (const { id, name } of jobs) {
    for (const ref of [id, id.slice(0, 9), id.slice(-8), id.slice(-2), ...(name === null ? [] : [name])])
      yield { jobs: () => reads.jobs({ ref, limit: 10 }) };
    yield { jobs: () => reads.jobs({ resubmitted_from: id, limit: 10 }) };
    yield { job: () => reads.job(id) };
    yield { jobRequest: () => reads.jobRequest(id) };
    yield { actor: () => reads.actor('job', id) };
    const tasks = await cluster.tasks(id);
    for (const status of [undefined, ...TASK_STATUSES])
      yield { tasks: () => reads.tasks({ job_id: id, status }) };
    for (const limit of [1, 3])
      for (const after of [undefined, ...tasks])
        yield { tasks: () => reads.tasks({ job_id: id, after_id: after?.id, limit }) };
    for (const csv of [false, true])
      for (const part of [{}, { limit: 2 }, { offset: 1, limit: 3 }, { offset: 100 }])
        yield { ranking: () => reads.ranking({ job_id: id, csv, ...part }) };
    yield { jobArtifacts: () => reads.jobArtifacts({ job_id: id }) };
    const scopes = [{ job_id: id }, ...tasks.map((task) => ({ job_id: id, task_id: task.id }))];
    for (const scope of scopes) {
      yield { eventList: () => reads.eventList({ ...scope, after_id: 0, limit: 1000 }) };
      yield { events: () => reads.events({ ...scope, after_id: 0, limit: 3 }) };
      yield { eventList: () => reads.eventList({ ...scope, after_id: 2, before_id: 90, limit: 4 }) };
    }
    for (const task of tasks) {
      yield { jobArtifacts: () => reads.jobArtifacts({ job_id: id, task_id: task.id }) };
      yield { actor: () => reads.actor('task', task.id) };
      yield { assertTask: () => reads.assertTask(task.id) };
    }
  }
  for (const after_id of [0, 1, 17, 60, 1e6]) {
    for (const limit of [1, 40, 5000]) {
      yield { events: () => reads.events({ after_id, limit }) };
      yield { eventList: () => reads.eventList({ after_id, limit }) };
      yield { eventList: () => reads.eventList({ after_id, before_id: 200, limit }) };
    }
    yield { eventIdBefore: () => reads.eventIdBefore(after_id) };
  }
  for (const id of [...lab.artifacts, 'art_none']) yield { artifact: () => reads.artifact(id) };
  for (const status of [undefined, ...WORKER_STATUSES]) yield { workers: () => reads.workers(status) };
  for (const { id } of await cluster.seen.workers()) {
    yield { worker: () => reads.worker(id) };
    yield { actor: () => reads.actor('worker', id) };
  }
  for (const machine of MACHINE_NAMES) yield { stateCounts: () => reads.stateCounts(machine) };
  yield { stats: () => reads.stats() };
  yield { statsHistory: () => reads.statsHistory() };
  yield { demand: () => reads.demand() };
  yield { servers: () => reads.servers() };
  for (const id of ['none', 'nul\0'])
    for (const read of [reads.job, reads.jobRequest, reads.worker]) yield { job: () => read(id) };
}

/** What a read answers, as it goes to the client. */
async function answerOf(ask: () => unknown): Promise<string> {
  try {
    const answer = await ask();
    if (typeof answer !== 'object' || answer === null || !(Symbol.asyncIterator in answer))
      return JSON.stringify(answer) ?? 'nothing';
    let text = '';
    for await (const piece of answer as AsyncIterable<string>) text += piece;
    return text;
  } catch (fault) {
    // A fault of the comparison itself is none of the answers.
    if (!(fault as { code?: string }).code || fault instanceof assert.AssertionError) throw fault;
    return `${(fault as { code: string }).code}: ${(fault as Error).message}`;
  }
}

async function compareAll(cluster: TestCluster, lab: Lab, twin: TwinStore): Promise<Set<string>> {
  const asked = new Set<string>();
  for await (const question of questions(cluster, lab)) {
    const [name, ask] = Object.entries(question)[0] as [string, () => unknown];
    asked.add(name);
    twin.answering = 'sqlite';
    const one = await answerOf(ask);
    twin.answering = 'postgresql';
    const other = await answerOf(ask);
    twin.answering = 'sqlite';
    assert.equal(other, one, `${name}: ${ask}`);
  }
  return asked;
}

test(
  'every read is answered by PostgreSQL byte by byte as by SQLite, in every page, and every turn reads the same from both',
  requires('postgresql'),
  async (t) => {
    const { cluster, twin, faults, misplaced } = await twinCluster(t);
    const lab = new Lab(cluster, new Seeded(17));
    const python = { packages: { demo: '1.0', other: '2.1' }, demo_cluster: 'not "this"' };
    const workers = [
      await cluster.register(
        { name: 'one', version: python, labels: { 'k"ey': LONG_TEXT.slice(0, 40) } },
        ANN,
      ),
      await cluster.register({ version: { ...python, cluster: '0.1.0' } }, BOB),
    ];
    await lab.submitAll(14);
    for (const worker of workers) await lab.work(worker, 14);
    const [first, second, third] = lab.jobs as [string, string, string];
    await cluster
      .change(first, { name: 'Renamed "é"', tags: ['soil', 'new'], note: null, priority: 5 }, ANN)
      .catch(() => {});
    await cluster.change(second, { name: null, tags: [] }, BOB).catch(() => {});
    await cluster.cancel(third).catch(() => {});
    for (const id of lab.jobs.slice(0, 6)) await cluster.retry(id).catch(() => {});
    assert.equal(await misplaced(), '');
    await cluster.drain((workers[1] as TestWorker).id).catch(() => {});
    await lab.submitAll(3);
    await lab.work(workers[0] as TestWorker, 8);
    const asked = await compareAll(cluster, lab, twin());
    assert.deepEqual(
      Object.keys(cluster.port.reads).filter((name) => !asked.has(name)),
      [],
    );

    // What retention deletes and leaves, what a start reads, and what a check finds.
    for (const id of lab.jobs.slice(3, 6)) await cluster.delete(id, ANN).catch(() => {});
    cluster.retention = {
      keepJobs: 40 * 86_400,
      keepArtifacts: 20 * 86_400,
      keepLogs: 86_400,
      keepEvents: 30 * 86_400,
    };
    await cluster.restart();
    await cluster.pass(25 * 86_400);
    await compareAll(cluster, lab, twin());
    assert.deepEqual(await checkRows(twin().queries), []);
    await cluster.pass(40 * 86_400);
    await compareAll(cluster, lab, twin());
    assert.deepEqual(await checkRows(twin().queries), []);
    assert.equal(await misplaced(), '');
    // Nobody hears of what a turn or retention reads.
    assert.deepEqual(faults(), []);
  },
);
