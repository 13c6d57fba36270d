import { setImmediate } from 'node:timers/promises';
import type { TaskQuery } from '../../../gateway/backend.ts';
import { slices } from '../../../machines/json/slices.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { HELD_STATUSES } from '../../../machines/schema/statuses.ts';
import { type Queries, type SqlText, sql } from '../store/sql.ts';
import { each, eachMember, JOIN, LIMIT, member, ownMember, sqlWords } from '../store/sql-words.ts';
import { double, integer, joined, json, object, seconds, smallRows, text } from './json-text.ts';
import type { Live } from './live-reads.ts';
import {
  bytesOf,
  LONG,
  orPlaceholder,
  partsOf,
  placeholder,
  quoted,
  type ValueReaders,
  withLongValues,
} from './long-values.ts';
import { inPages, type RowHead } from './pages.ts';
import { lackedPlaces, type QueuedTask, secondsIn, waitingTask } from './waiting.ts';

const long = (column: string, jsonText: SqlText) => orPlaceholder(`t.${column}`, jsonText, column, 't.seq');

/** What clients see of a task (docs/protocol.md#views-of-jobs-and-tasks). */
const TASK = object([
  ['id', text('t.id')],
  ['job_id', text('t.job_id')],
  ['status', text('t.status')],
  ['attempt', integer('t.attempt')],
  ['max_attempts', integer('t.max_attempts')],
  ['worker_id', text('t.worker_id')],
  [
    'lease_expires_at',
    sql`CASE WHEN t.status IN (${sqlWords(HELD_STATUSES)}) THEN ${seconds('coalesce(lease.at, t.lease_expires_at)')} ELSE 'null' END`,
  ],
  ['requirements', 'need.document'],
  ['dataset_label', long('dataset_label', text('t.dataset_label'))],
  ['pipeline_label', long('pipeline_label', text('t.pipeline_label'))],
  ['pipeline_steps', text('t.pipeline_steps')],
  ['role', text(ownMember('t.payload', 'role'))],
  ['created_at', seconds('t.created_at')],
  ['updated_at', seconds('t.updated_at')],
  ['started_at', seconds('t.started_at')],
  ['not_before', seconds('t.not_before')],
  ['result', long('result', json('t.result'))],
  ['reused_from', json('t.reused_from')],
  ['error', long('error', text('t.error'))],
  ['waiting_for', `CASE WHEN t.status = 'queued' THEN coalesce(wait.document, '[]') ELSE '[]' END`],
]);

/** What stands in a task's view beside its long columns, in bytes. */
const BYTES = bytesOf(800, 't.result', 't.error', 't.dataset_label', 't.pipeline_label');

const FIRST = member('value', 0, 'bigint');
const LIST = sql`
  WITH picked (seq, waiting) AS MATERIALIZED (SELECT ${FIRST}, ${member('value', 1, 'bigint')} FROM ${each('?', 'text')}),
       need (id, document) AS MATERIALIZED (SELECT ${FIRST}, ${member('value', 1)} FROM ${each('?', 'text')}),
       lease (id, at) AS MATERIALIZED (SELECT key, value FROM ${eachMember('?', 'double precision')}),
       wait (id, document) AS MATERIALIZED (SELECT key, value FROM ${each('?', 'text')})
  SELECT ${joined(TASK, 't.seq')} AS text
  FROM picked ${JOIN} tasks t ON t.seq = picked.seq
  LEFT JOIN need ON need.id = t.requirement_id LEFT JOIN lease ON lease.id = t.id
  LEFT JOIN wait ON wait.id = picked.waiting`;

interface Head extends RowHead, QueuedTask {
  seq: number;
  id: string;
  status: string;
}
/** What only counts while a task waits. */
const ifQueued = (value: SqlText) => sql`coalesce(CASE WHEN t.status = 'queued' THEN ${value} END, 'null')`;
const HEAD = object([
  ['seq', integer('t.seq')],
  ['id', text('t.id')],
  ['status', text('t.status')],
  ['requirement_id', integer('t.requirement_id')],
  ['avoids', ifQueued(text('t.avoids'))],
  ['not_before', ifQueued(double('t.not_before'))],
  ['timeout_seconds', ifQueued(double('t.timeout_seconds'))],
  ['pipeline', ifQueued(ownMember('t.payload', 'pipeline'))],
  ['dataset', ifQueued(ownMember('t.payload', 'dataset'))],
  ['bytes', sql`(${BYTES})`],
]);

/** Milliseconds for which other requests wait while it is looked up who is missing. */
const SLICE_MS = 10;

/**
 * The tasks of a job in their order, as pieces of JSON; with what only memory knows: leases as they stand, and who is
 * missing.
 */
export class TaskList {
  readonly #db: Queries;
  readonly #live: Live;
  readonly #query: TaskQuery;
  /** What tasks of the present page wait for, as JSON texts. */
  #waits: string[] = [];
  /** What the job as a whole says of what its tasks wait for. */
  #ofJob: { lacked: Awaited<ReturnType<typeof lackedPlaces>>; seconds: number | null } | undefined;

  constructor(db: Queries, live: Live, query: TaskQuery) {
    this.#db = db;
    this.#live = live;
    this.#query = query;
  }

  /** Throws `unknown_id` before the first piece. */
  async *pieces(): AsyncGenerator<string> {
    const start = await this.#start();
    yield '[';
    const pages = inPages<Head>({
      plan: (after, rows) => this.#plan(after?.seq ?? start, rows),
      compose: (heads) => this.#compose(heads),
      limit: this.#query.limit,
    });
    yield* withLongValues(pages, this.#valueReaders());
    yield ']';
  }

  /** The number of the task behind which the list begins. */
  async #start(): Promise<number> {
    const { job_id, after_id } = this.#query;
    const [sql, id, what] =
      after_id === undefined
        ? (['SELECT 0 AS seq FROM jobs WHERE id = ?', job_id, 'job'] as const)
        : (['SELECT seq, job_id FROM tasks WHERE id = ?', after_id, 'task'] as const);
    const row = await this.#db.get<{ seq: number; job_id?: string }>(sql, id);
    if (!row || (row.job_id ?? job_id) !== job_id) throw ClusterError.unknown(what, id);
    return row.seq;
  }

  async #plan(after: number, rows: number): Promise<Head[]> {
    const { job_id, status } = this.#query;
    const heads = await smallRows<Head>(
      this.#db,
      HEAD,
      sql`FROM tasks t WHERE t.job_id = ? AND t.seq > ?${status === undefined ? '' : ' AND t.status = ?'} ORDER BY t.seq ${LIMIT}`,
      [job_id, after, ...(status === undefined ? [] : [status]), rows],
    );
    for (const head of heads) {
      // Twice: who is missing is told in the words of what is required.
      head.bytes += 2 * Math.min(LONG, this.#live.requirements(head.requirement_id).length);
    }
    return heads;
  }

  async #compose(heads: Head[]): Promise<string> {
    const places = await this.#waitsOf(heads);
    const picked = heads.map(({ seq }, i) => [seq, places[i] ?? null]);
    const needs = [...new Set(heads.map((head) => head.requirement_id))].map((id) => [
      id,
      shortOrPlaceholder(this.#live.requirements(id), 'required', id),
    ]);
    const leases = this.#live.leases(heads.map((head) => head.id));
    const waits = this.#waits.map((text, i) => shortOrPlaceholder(text, 'missing', i));
    const lists = [picked, needs, leases, waits].map((list) => JSON.stringify(list));
    return (await this.#db.get<{ text: string }>(LIST, ...lists))?.text ?? '';
  }

  /** What the queued tasks of a page wait for: of each task its place among `#waits`, where that is told once. */
  async #waitsOf(heads: Head[]): Promise<(number | undefined)[]> {
    this.#waits = [];
    const known = new Map<string, number>();
    const places: (number | undefined)[] = [];
    let since = performance.now();
    for (const head of heads) {
      if (head.status !== 'queued') {
        places.push(undefined);
        continue;
      }
      this.#ofJob ??= {
        lacked: await lackedPlaces(this.#db, this.#live, this.#query.job_id),
        seconds: await secondsIn(this.#db, this.#query.job_id),
      };
      const task = waitingTask(head, this.#live.now, this.#ofJob);
      const key = JSON.stringify(task);
      const place = known.get(key) ?? this.#waits.push(JSON.stringify(this.#live.waitingFor(task))) - 1;
      known.set(key, place);
      places.push(place);
      if (performance.now() - since < SLICE_MS) continue;
      await setImmediate();
      since = performance.now();
    }
    return places;
  }

  #valueReaders(): ValueReaders {
    const parts = (value: string) => (seq: string) =>
      partsOf(this.#db, { table: 'tasks', value, key: 'seq' }, Number(seq));
    const inQuotes = (value: string) => (seq: string) => quoted(parts(value)(seq));
    return {
      result: parts('result'),
      error: inQuotes('error'),
      dataset_label: inQuotes('dataset_label'),
      pipeline_label: inQuotes('pipeline_label'),
      required: (id) => inSlices(this.#live.requirements(Number(id))),
      missing: (place) => inSlices(this.#waits[Number(place)] ?? '[]'),
    };
  }
}

const shortOrPlaceholder = (jsonText: string, what: string, key: number): string =>
  jsonText.length > LONG ? placeholder(what, key) : jsonText;

async function* inSlices(text: string): AsyncGenerator<string> {
  yield* slices(text, LONG);
}
