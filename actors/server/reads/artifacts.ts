import type { Piece } from '../../../gateway/backend.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { ArtifactView } from '../../../machines/schema/views.ts';
import type { JobRow } from '../store/rows.ts';
import { type Queries, sql } from '../store/sql.ts';
import { amongTexts, JOIN, LIMIT, membersIn, ownMember } from '../store/sql-words.ts';
import { inPages, planned, type RowHead } from './pages.ts';

/** Tasks whose artifacts are looked at together, and artifacts of a page, in its bytes. */
const TASKS = 100;
const VIEW_BYTES = 800;

/** SQL: what a task's result names, where it counts. A result that is nested deeper than the store reads names nothing. */
const NAMED = membersIn('t.result', 'artifacts', "t.status = 'succeeded'");

/**
 * SQL: whose uploads a task lists. One with the result of another has that one's; it has computed once and for all.
 */
const REUSED = ownMember('t.reused_from', 'task_id');
const UPLOADS = sql`coalesce(${REUSED}, t.id)`;
const ATTEMPT = sql`CASE WHEN t.reused_from IS NULL THEN t.attempt ELSE (SELECT o.attempt FROM tasks o WHERE o.id = ${REUSED}) END`;

/**
 * What a window of tasks lists, in the order of tasks, roles and ids: what each last attempt uploaded, and of a
 * succeeded task, in the roles that its result names, exactly what it names.
 */
const WINDOW = sql`
  WITH listed (seq, task_id, role, artifact_id) AS MATERIALIZED
         (SELECT t.seq, t.id, u.role, u.artifact_id FROM tasks t ${JOIN} task_artifacts u
            ON u.task_id = ${UPLOADS} AND u.attempt = ${ATTEMPT}
          WHERE t.job_id = ? AND t.seq >= ? AND t.seq <= ?
            AND NOT EXISTS (SELECT 1 FROM ${NAMED} n WHERE n.key = u.role)
          UNION ALL
          SELECT t.seq, t.id, n.key, n.value FROM tasks t CROSS JOIN ${NAMED} n
          WHERE t.job_id = ? AND t.seq >= ? AND t.seq <= ? AND n.value IS NOT NULL)
  SELECT listed.*, ${VIEW_BYTES} AS bytes FROM listed
  WHERE (listed.seq, listed.role, listed.artifact_id) > (?, ?, ?)
  ORDER BY listed.seq, listed.role, listed.artifact_id ${LIMIT}`;

interface Listed extends RowHead {
  seq: number;
  task_id: string | null;
  role: string;
  artifact_id: string;
}

interface StoredRow {
  id: string;
  sha256: string;
  kind: string;
  size_bytes: number;
  created_at: number;
  filename: string | null;
  metadata: string;
  /** Null while its bytes are there. */
  expired_at: number | null;
}

/** What is shown of an artifact, also of one whose own time is over. */
const SHOWN = 'id, sha256, kind, size_bytes, created_at, filename, metadata';
const STORED = sql`SELECT ${SHOWN}, NULL AS expired_at FROM artifacts WHERE id ${amongTexts('?1')}
  UNION ALL SELECT ${SHOWN}, expired_at FROM expired_artifacts WHERE id ${amongTexts('?1')}`;

/**
 * The artifacts of a job (docs/protocol.md#artifacts) as pieces of JSON, in the order of its tasks; the best task's
 * model stands once more, last, as `best_model`.
 */
export async function* artifactList(db: Queries, job: JobRow): AsyncGenerator<Piece> {
  const windows = new TaskWindows(db, job.id);
  const compose = (listed: Listed[]) => viewsOf(db, listed);
  let before = '';
  yield '[';
  const plan = async (last: Listed | null, rows: number) => planned(await windows.next(last, rows));
  for await (const piece of inPages<Listed>({ plan, compose })) {
    yield piece;
    before = ',';
  }
  if (job.best_model_artifact_id !== null) {
    const best = {
      seq: 0,
      task_id: null,
      role: 'best_model',
      artifact_id: job.best_model_artifact_id,
      bytes: 0,
    };
    const view = await viewsOf(db, [best]);
    if (view !== '') yield before + view;
  }
  yield ']';
}

/** The same of one of its tasks. Throws `unknown_id` before the first piece where the job has no such task. */
export async function* taskArtifacts(db: Queries, job: JobRow, taskId: string): AsyncGenerator<Piece> {
  const task = await db.get<{ seq: number; job_id: string }>(
    'SELECT seq, job_id FROM tasks WHERE id = ?',
    taskId,
  );
  if (task?.job_id !== job.id) throw ClusterError.unknown('task', taskId);
  const window = [job.id, task.seq, task.seq];
  yield '[';
  yield* inPages<Listed>({
    plan: async (last, rows) =>
      planned(
        await db.all<Listed[]>(
          WINDOW,
          ...[...window, ...window],
          ...[last?.seq ?? 0, last?.role ?? '', last?.artifact_id ?? '', rows],
        ),
      ),
    compose: (listed) => viewsOf(db, listed),
  });
  yield ']';
}

/** Walks through the tasks of a job, so many at a time: no page sorts the artifacts of all of them. */
class TaskWindows {
  readonly #db: Queries;
  readonly #jobId: string;
  /** The first and the last task of the present window. */
  #window: { first: number; last: number } | null = null;

  constructor(db: Queries, jobId: string) {
    this.#db = db;
    this.#jobId = jobId;
  }

  async next(after: Listed | null, rows: number): Promise<Listed[]> {
    const found: Listed[] = [];
    let last = after;
    this.#window ??= await this.#windowFrom(0);
    while (this.#window && found.length < rows) {
      const { first, last: end } = this.#window;
      const window = [this.#jobId, Math.max(first, last?.seq ?? 0), end];
      const more = await this.#db.all<Listed[]>(
        WINDOW,
        ...[...window, ...window],
        ...[last?.seq ?? 0, last?.role ?? '', last?.artifact_id ?? '', rows - found.length],
      );
      found.push(...more);
      last = more.at(-1) ?? last;
      if (found.length < rows) this.#window = await this.#windowFrom(end + 1);
    }
    return found;
  }

  async #windowFrom(seq: number): Promise<{ first: number; last: number } | null> {
    const row = await this.#db.get<{ first: number | null; last: number | null }>(
      `SELECT min(seq) AS first, max(seq) AS last FROM
         (SELECT seq FROM tasks WHERE job_id = ? AND seq >= ? ORDER BY seq LIMIT ${TASKS}) AS looked`,
      ...[this.#jobId, seq],
    );
    return row && row.first !== null && row.last !== null ? { first: row.first, last: row.last } : null;
  }
}

async function viewsOf(db: Queries, listed: Listed[]): Promise<string> {
  const stored = await db.all<StoredRow[]>(STORED, JSON.stringify(listed.map((row) => row.artifact_id)));
  const byId = new Map(stored.map((row) => [row.id, row]));
  const views = listed.flatMap(({ role, task_id, artifact_id }): ArtifactView[] => {
    const row = byId.get(artifact_id);
    if (!row) return [];
    return [{ role, task_id, ...row, metadata: JSON.parse(row.metadata) }];
  });
  return views.map((view) => JSON.stringify(view)).join(',');
}
