import type { EventPage, EventQuery, Piece } from '../../../gateway/backend.ts';
import { LIMITS } from '../../../machines/protocol/limits.ts';
import type { EventView } from '../../../machines/schema/views.ts';
import { differing, type Queries, sql } from '../store/sql.ts';
import { inOrder, isGap, JOIN, LIMIT, OFFSET, ownMember } from '../store/sql-words.ts';
import { EVENTS } from '../store/tables.ts';
import { integer, json, object, seconds, text, word } from './json-text.ts';
import { bytesOf, partsOf, quoted, type ValueReaders, withLongValues } from './long-values.ts';
import { compose, type LargeRow, type LongInMember, look, type Members, planOf } from './looks.ts';
import { inPages, joinedLists, PAGE_BYTES } from './pages.ts';

/** What clients see of an event (docs/protocol.md#events). */
const event = (long: LongInMember) =>
  object([
    ['id', integer('e.id')],
    ['job_id', word('e.job_id')],
    ['task_id', word('e.task_id')],
    ['worker_id', word('e.worker_id')],
    ['ts', seconds('e.ts')],
    ['level', word('e.level')],
    ['type', text('e.type')],
    ['message', long('e.message', text('e.message'))],
    ['data', long('e.data', json('e.data'))],
  ]);
const BYTES = bytesOf(300, 'message', 'data');
const MEMBERS: Members = {
  ...{ table: 'events e', seq: 'e.id', member: event, long: ['message', 'data'] },
};

interface Filter {
  where: string;
  params: (string | number)[];
}

function filterOf({ job_id, task_id, after_id, before_id }: EventQuery): Filter {
  const conditions = ['id > ?'];
  const params: (string | number)[] = [after_id];
  // What was deleted of a job may have been of this task.
  const ofTask = `(task_id = ? OR ${isGap()})`;
  const bounds = { 'job_id = ?': job_id, [ofTask]: task_id, 'id < ?': before_id };
  for (const [condition, bound] of Object.entries(bounds)) {
    if (bound === undefined) continue;
    conditions.push(condition);
    params.push(bound);
  }
  return { where: conditions.join(' AND '), params };
}

/** Events, oldest first, as pieces of JSON. */
export async function* eventList(db: Queries, query: EventQuery): AsyncGenerator<Piece> {
  const parts = (value: string) => (id: string) =>
    partsOf(db, { table: 'events', value, key: 'id' }, Number(id));
  const fillers: ValueReaders = { message: (id) => quoted(parts('message')(id)), data: parts('data') };
  yield '[';
  yield* withLongValues(joinedLists(await listsOf(db, query)), fillers);
  yield ']';
}

/** What a list consists of, one part behind the other. */
async function listsOf(db: Queries, query: EventQuery): Promise<AsyncIterable<Piece>[]> {
  if (query.before_id === undefined) return [eventsOf(db, query)];
  const after_id = await idBeforeLast(db, query);
  const gap = await gapAround(db, query);
  if (gap === undefined || gap.from <= after_id) return [eventsOf(db, { ...query, after_id })];
  const others = { ...query, after_id: await idBeforeLast(db, { ...query, limit: query.limit - 1 }) };
  return [
    eventsOf(db, { ...others, before_id: gap.from }),
    gap.text(),
    eventsOf(db, { ...others, after_id: Math.max(others.after_id, gap.from) }),
  ];
}

function eventsOf(db: Queries, query: EventQuery): AsyncGenerator<Piece> {
  return inPages<LargeRow>({
    plan: async (last, rows) => {
      const { where, params } = filterOf({ ...query, after_id: last?.seq ?? query.after_id });
      const rest = sql`WHERE ${where} ORDER BY id ${LIMIT}`;
      return planOf(await look(db, MEMBERS, rest, ...params, rows));
    },
    compose: (heads) => compose(db, MEMBERS, heads),
    limit: query.limit,
  });
}

/**
 * What stands for events that were deleted on both sides of an id, before which is read backwards: its own place lies
 * behind. Of a job, or of all that belong to no job that is there. It is read at the place of the first of these events.
 */
async function gapAround(db: Queries, { job_id, before_id = 0 }: EventQuery) {
  const gaps = sql`SELECT id, ${ownMember('data', 'from', 'bigint')} AS first FROM events WHERE ${isGap()} AND job_id`;
  type Gap = { id: number; first: number };
  const gap = await (job_id === undefined
    ? db.get<Gap>(sql`${gaps} IS NULL`)
    : db.get<Gap>(sql`${gaps} = ?`, job_id));
  if (gap === undefined || gap.id < before_id || gap.first >= before_id) return undefined;
  const { id, first } = gap;
  return {
    from: first,
    async *text() {
      const text = await compose(db, MEMBERS, [{ seq: id }]);
      if (text.length > 0) yield JSON.stringify({ ...(JSON.parse(text.toString()) as EventView), id: first });
    },
  };
}

/** Behind which id the last `limit` events that a query asks for begin. */
async function idBeforeLast(db: Queries, query: EventQuery): Promise<number> {
  const { before_id = 0, limit } = query;
  if (limit === 0) return before_id - 1;
  const { where, params } = filterOf(query);
  const row = await db.get<{ id: number }>(
    sql`SELECT id FROM events WHERE ${where} ORDER BY id DESC LIMIT 1 ${OFFSET}`,
    ...[...params, limit - 1],
  );
  return row ? row.id - 1 : query.after_id;
}

/** A text or document of an event as a stream sends it: a frame is whole, so what is beyond the limits is cut. */
const MESSAGE = `CASE WHEN octet_length(e.message) > ${LIMITS.message}
  THEN substr(e.message, 1, ${LIMITS.message / 8}) || '… (' || octet_length(e.message) || ' bytes in all)' ELSE e.message END`;
/** Joined with nothing it is a text: a cast leaves it a document, which the row would have as an object. */
const LEFT_OUT = `('left_out', 'data of ' || octet_length(e.data) || ' bytes')`;
const DATA = sql`CASE WHEN octet_length(e.data) > ${LIMITS.data + 1024}
  THEN ${differing(`json_object${LEFT_OUT} || ''`, `json_build_object${LEFT_OUT}::text`)} ELSE e.data END`;

const FRAME = EVENTS.rowSql((column) =>
  column === 'message' ? MESSAGE : column === 'data' ? DATA : `e.${column}`,
);

/** The next events behind an id, as many as make a page; for streams, which read on when their client has taken it. */
export async function eventPage(queries: Queries, query: EventQuery): Promise<EventPage> {
  const { where, params } = filterOf(query);
  const rows = await queries.all<{ cells: string; planned: number }[]>(
    sql`WITH head (id, bytes) AS MATERIALIZED
            (SELECT id, ${BYTES} FROM events WHERE ${where} ORDER BY id ${LIMIT}),
          page (id, upto, planned) AS MATERIALIZED
            (SELECT id, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes, count(*) OVER () FROM head)
     SELECT ${FRAME} AS cells, page.planned
     FROM page ${JOIN} events e ON e.id = page.id WHERE page.upto < ${PAGE_BYTES}${inOrder('page.id')}`,
    ...params,
    query.limit,
  );
  const planned = rows[0]?.planned ?? 0;
  return {
    events: rows.map(({ cells }) => EVENTS.decode(cells) as EventView),
    more: rows.length < planned || planned === query.limit,
  };
}
