import { setImmediate } from 'node:timers/promises';
import type { Piece, TaskQuery } from '../../../gateway/backend.ts';
import { slices } from '../../../machines/json/slices.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { HELD_STATUSES } from '../../../machines/schema/statuses.ts';
import { type Queries, sql } from '../store/sql.ts';
import { LIMIT, ownMember, sqlWords, typed } from '../store/sql-words.ts';
import { BLANK, blank, double, integer, json, object, ownWord, seconds, text, word } from './json-text.ts';
import type { Live } from './live-reads.ts';
import { LONG, partsOf, placeholder, quoted, type ValueReaders, withLongValues } from './long-values.ts';
import { compose, filled, type LargeRow, type LongInMember, look, type Members, planOf } from './looks.ts';
import { inPages } from './pages.ts';
import { lackedPlaces, type QueuedTask, secondsIn, waitingTask } from './waiting.ts';

const HELD = sqlWords(HELD_STATUSES);

/* What memory is asked for by. */
const LEASE = object([
  ['id', ownWord('t.id')],
  ['lease_expires_at', sql`'"' || ${seconds('t.lease_expires_at')} || '"'`],
]);
const WAITING = object([
  ['requirement_id', integer('t.requirement_id')],
  ['avoids', text('t.avoids')],
  ['not_before', double('t.not_before')],
  ['timeout_seconds', double('t.timeout_seconds')],
  ['pipeline', ownMember('t.payload', 'pipeline')],
  ['dataset', ownMember('t.payload', 'dataset')],
]);
/** Most tasks require what the first one of their job does; of that one it is a parameter. */
const REQUIREMENTS = sql`CASE t.requirement_id WHEN ${typed('?', 'bigint')} THEN ${typed('?', 'text')} ELSE ${blank(integer('t.requirement_id'))} END`;

/** What clients see of a task (docs/protocol.md#views-of-jobs-and-tasks); blank is what memory knows of it. */
const task = (long: LongInMember) =>
  object([
    ['id', ownWord('t.id')],
    ['job_id', ownWord('t.job_id')],
    ['status', ownWord('t.status')],
    ['attempt', integer('t.attempt')],
    ['max_attempts', integer('t.max_attempts')],
    ['worker_id', word('t.worker_id')],
    ['lease_expires_at', sql`CASE WHEN t.status IN (${HELD}) THEN ${blank(LEASE)} ELSE 'null' END`],
    ['requirements', REQUIREMENTS],
    ['dataset_label', long('t.dataset_label', text('t.dataset_label'))],
    ['pipeline_label', long('t.pipeline_label', text('t.pipeline_label'))],
    ['pipeline_steps', text('t.pipeline_steps')],
    ['role', text(ownMember('t.payload', 'role'))],
    ['created_at', seconds('t.created_at')],
    ['updated_at', seconds('t.updated_at')],
    ['started_at', seconds('t.started_at')],
    ['not_before', seconds('t.not_before')],
    ['result', long('t.result', json('t.result'))],
    ['reused_from', json('t.reused_from')],
    ['error', long('t.error', text('t.error'))],
    ['waiting_for', sql`CASE WHEN t.status = 'queued' THEN ${blank(WAITING)} ELSE '[]' END`],
  ]);

const MEMBERS: Members = {
  ...{ table: 'tasks t', seq: 't.seq', member: task },
  long: ['t.result', 't.error', 't.dataset_label', 't.pipeline_label'],
};

/** A held task: who it is, and until when as far as its row knows, a JSON text. */
interface Held {
  id: string;
  lease_expires_at: string;
}

/** Characters above which what tasks have in common is left for later, so that a page of them stays what it is. */
const LONG_BLANK = 1024;

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
  async *pieces(): AsyncGenerator<Piece> {
    const start = await this.#start();
    const { job_id, status, limit } = this.#query;
    const members = { ...MEMBERS, params: await this.#requiredFirst() };
    const which = `WHERE t.job_id = ? AND t.seq > ?${status === undefined ? '' : ' AND t.status = ?'}`;
    const rest = sql`${which} ORDER BY t.seq ${LIMIT}`;
    const only = status === undefined ? [] : [status];
    yield '[';
    const pages = inPages<LargeRow>({
      plan: async (after, rows) =>
        planOf(await look(this.#db, members, rest, job_id, after?.seq ?? start, ...only, rows)),
      fill: (text) => this.#filled(text),
      compose: async (heads) => this.#filled(await compose(this.#db, members, heads)),
      limit,
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

  /** What the first task of the job requires, and its number. */
  async #requiredFirst(): Promise<[id: number | null, document: string | null]> {
    const first = await this.#db.get<{ id: number }>(
      sql`SELECT requirement_id AS id FROM tasks WHERE job_id = ? ORDER BY seq LIMIT 1`,
      this.#query.job_id,
    );
    return first ? [first.id, this.#required(first.id)] : [null, null];
  }

  #required(id: number): string {
    return shortOrPlaceholder(this.#live.requirements(id), 'required', id);
  }

  /** A text with what memory knows, as it is now. */
  async #filled(text: Piece): Promise<Piece> {
    if (!text.includes(BLANK)) return text;
    const asked = new Set(
      text
        .toString()
        .split(BLANK)
        .filter((_, i) => i % 2 === 1),
    );
    const known = new Map<string, string>();
    const held: [blank: string, task: Held][] = [];
    const queued: [blank: string, task: QueuedTask][] = [];
    for (const blank of asked) {
      const about = JSON.parse(blank) as number | Held | QueuedTask;
      if (typeof about === 'number') known.set(blank, this.#required(about));
      else if ('lease_expires_at' in about) held.push([blank, about]);
      else queued.push([blank, about]);
    }
    const leases = this.#live.leases(held.map(([, { id }]) => id));
    for (const [blank, { id, lease_expires_at }] of held)
      known.set(blank, `${leases[id] ?? lease_expires_at}`);
    await this.#tellWaits(queued, known);
    return filled(text, (blank) => known.get(blank) as string);
  }

  /** What the queued tasks of a page wait for: what is the same for many is looked up once. */
  async #tellWaits(queued: readonly [blank: string, task: QueuedTask][], known: Map<string, string>) {
    this.#waits = [];
    if (queued.length === 0) return;
    this.#ofJob ??= {
      lacked: await lackedPlaces(this.#db, this.#live, this.#query.job_id),
      seconds: await secondsIn(this.#db, this.#query.job_id),
    };
    const places = new Map<string, number>();
    let since = performance.now();
    for (const [blank, queuedTask] of queued) {
      const task = waitingTask(queuedTask, this.#live.now, this.#ofJob);
      const key = JSON.stringify(task);
      const place = places.get(key) ?? this.#waits.push(JSON.stringify(this.#live.waitingFor(task))) - 1;
      places.set(key, place);
      known.set(blank, shortOrPlaceholder(this.#waits[place] as string, 'missing', place));
      if (performance.now() - since < SLICE_MS) continue;
      await setImmediate();
      since = performance.now();
    }
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
  jsonText.length > LONG_BLANK ? placeholder(what, key) : jsonText;

async function* inSlices(text: string): AsyncGenerator<string> {
  yield* slices(text, LONG);
}
