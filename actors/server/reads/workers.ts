import type { Piece } from '../../../gateway/backend.ts';
import { compose, RawJson } from '../../../machines/json/raw.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { WorkerStatus, WorkerView } from '../../../machines/schema/views.ts';
import type { WorkerRow } from '../store/rows.ts';
import { differing, joinSql, type Queries, sql } from '../store/sql.ts';
import { JOIN, LIMIT } from '../store/sql-words.ts';
import { pickedBy } from './json-text.ts';
import type { Live } from './live-reads.ts';
import { bytesOf, orPlaceholder, partsOf, type ValueReaders, withLongValues } from './long-values.ts';
import { inPages, planned, type RowHead } from './pages.ts';

/** What a worker declared, each a column of JSON text. */
const DECLARED = ['labels', 'capabilities', 'version'] as const;

type Declared = Record<(typeof DECLARED)[number], string> & { drained: string | null };

interface WorkerHead extends RowHead {
  id: string;
}

/** A row without what it declared, and that as text or a mark. */
type Found = Omit<WorkerRow, keyof Declared> & Declared & Pick<WorkerView, 'cluster_version'>;

const BYTES = bytesOf(1000, ...DECLARED.map((column) => `workers.${column}`));

/** The program's own version, as `clusterVersion` finds it. */
const CLUSTER_VERSION = differing(
  `coalesce(
  CASE WHEN json_type(version, '$.cluster') = 'text' THEN version ->> '$.cluster' END,
  (SELECT value FROM json_each(version) WHERE type = 'text' AND substr(key, -8) = '_cluster' LIMIT 1))`,
  `coalesce(
  CASE WHEN json_typeof(jq_json(version) -> 'cluster') = 'string' THEN jq_json(version) ->> 'cluster' END,
  (SELECT value #>> '{}' FROM json_each(jq_json(version))
    WHERE json_typeof(value) = 'string' AND right(key, 8) = '_cluster' LIMIT 1))`,
);

const COLUMNS = joinSql(
  [
    ...[
      'id',
      'name',
      'status',
      'slots_total',
      'slots_used',
      'last_seen_at',
      'suspended',
      'leaving',
      'drained',
    ],
    ...DECLARED.map((column) => sql`${orPlaceholder(column, column, column, 'id')} AS ${column}`),
    sql`${CLUSTER_VERSION} AS cluster_version`,
  ],
  ', ',
);

/** All registered workers, or those in a status, those that registered first in front, as pieces of JSON. */
export async function* workerList(db: Queries, live: Live, status?: WorkerStatus): AsyncGenerator<Piece> {
  yield '[';
  yield* workers(db, live, status === undefined ? {} : { status });
  yield ']';
}

/** Throws `unknown_id` before the first piece. */
export async function* oneWorker(db: Queries, live: Live, id: string): AsyncGenerator<Piece> {
  if (!(await db.get('SELECT 1 FROM workers WHERE id = ?', id))) throw ClusterError.unknown('worker', id);
  yield* workers(db, live, { id });
}

/** @param only what a column of those that are asked for is */
async function* workers(
  db: Queries,
  live: Live,
  only: { id?: string; status?: WorkerStatus },
): AsyncGenerator<Piece> {
  const [column, wanted] = Object.entries(only)[0] ?? [];
  const filler = (value: string) => (id: string) => partsOf(db, { table: 'workers', value, key: 'id' }, id);
  const fillers: ValueReaders = Object.fromEntries(DECLARED.map((column) => [column, filler(column)]));
  const pages = inPages<WorkerHead>({
    plan: async (last, rows) =>
      planned(
        await db.all<WorkerHead[]>(
          sql`SELECT id, ${BYTES} AS bytes FROM workers WHERE id > ? ${column === undefined ? '' : `AND ${column} = ?`} ORDER BY id ${LIMIT}`,
          ...[last?.id ?? '', ...(wanted === undefined ? [] : [wanted]), rows],
        ),
      ),
    compose: async (heads) => {
      const found = await db.all<Found[]>(
        sql`${pickedBy('text')} SELECT ${COLUMNS} FROM picked ${JOIN} workers ON workers.id = picked.seq ORDER BY picked.place`,
        JSON.stringify(heads.map(({ id }) => id)),
      );
      return found.map((row) => compose(viewOf(row, live))).join(',');
    },
  });
  yield* withLongValues(pages, fillers);
}

/** The members of a `WorkerView`. When a worker was last heard is newer in memory than in the store. */
const viewOf = (row: Found, live: Live): Record<keyof WorkerView, unknown> => ({
  id: row.id,
  name: row.name,
  status: row.status,
  slots_total: row.slots_total,
  slots_used: row.slots_used,
  last_seen_at: live.lastSeenAt(row.id) ?? row.last_seen_at,
  labels: new RawJson(row.labels),
  capabilities: new RawJson(row.capabilities),
  version: new RawJson(row.version),
  cluster_version: row.cluster_version,
  version_divergent: row.cluster_version !== live.version,
  suspended: row.suspended,
  leaving: row.leaving,
  drained: row.drained === null ? null : new RawJson(row.drained),
});
