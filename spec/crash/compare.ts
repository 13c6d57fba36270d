import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { type AckOf, type Ledger, only } from './ledger.ts';

type Row = Record<string, string | number | null>;

/**
 * Compares a state directory with what was acknowledged until now, in one snapshot of the store, so that the
 * server may go on meanwhile.
 * @returns what is wrong, a line each; nothing when all is well
 */
export async function compare(state: string, ledger: Ledger): Promise<string[]> {
  const acks = ledger.read();
  const db = await open({
    filename: join(state, 'store.sqlite'),
    driver: sqlite3.Database,
    mode: sqlite3.OPEN_READONLY,
  });
  try {
    await db.exec('PRAGMA busy_timeout = 5000; BEGIN');
    const view = await Snapshot.of(db, state, ledger);
    return [
      ...(await structure(db)),
      ...view.jobs(only(acks, 'job')),
      ...view.cancels(only(acks, 'cancel')),
      ...view.completes(only(acks, 'complete')),
      ...view.fails(only(acks, 'fail')),
      ...view.starts(only(acks, 'start')),
      ...view.told(only(acks, 'event'), only(acks, 'worker')),
      ...view.results(),
      ...view.artifacts(only(acks, 'artifact')),
    ];
  } finally {
    await db.close();
  }
}

const says = (wrong: boolean, words: string): string[] => (wrong ? [words] : []);

/** Rules that hold for every store, whoever asked for what. */
async function structure(db: Database): Promise<string[]> {
  const [check] = await db.all<Row[]>('PRAGMA integrity_check');
  const ids = await db.get<Row>('SELECT MIN(id) AS low, MAX(id) AS high, COUNT(*) AS n FROM events');
  const faults = [
    ...says(check?.integrity_check !== 'ok', `integrity_check: ${JSON.stringify(check)}`),
    ...says(
      (ids?.n ?? 0) !== 0 && (ids?.low !== 1 || ids.high !== ids.n),
      `gaps in the events: ${JSON.stringify(ids)}`,
    ),
  ];
  for (const [rule, sql] of Object.entries(NEVER)) {
    const rows = await db.all<Row[]>(sql);
    faults.push(...rows.slice(0, 3).map((row) => `${rule}: ${JSON.stringify(row)}`));
  }
  return faults;
}

/** What no store may hold; each query finds the offenders. */
const NEVER: Record<string, string> = {
  'a result recorded twice': `SELECT task_id, COUNT(*) AS n FROM events WHERE type = 'task_completed' GROUP BY task_id HAVING n > 1`,
  'a success without its event, or the other way round': `SELECT t.id, t.status FROM tasks t
    LEFT JOIN events e ON e.task_id = t.id AND e.type IN ('task_completed', 'task_reused') WHERE (t.status = 'succeeded') <> (e.id IS NOT NULL)`,
  'a cancelled job that ran again': `SELECT j.id, e.type FROM jobs j
    JOIN events e ON e.job_id = j.id AND e.type IN ('task_leased', 'task_started')
    WHERE j.status IN ('cancelling', 'cancelled')
    AND e.id > (SELECT MIN(id) FROM events c WHERE c.job_id = j.id AND c.type = 'job_cancel_requested'
      AND c.id > (SELECT COALESCE(MAX(id), 0) FROM events r WHERE r.job_id = j.id AND r.type = 'job_retried'))`,
  'a job whose counters are not its tasks': `SELECT j.id, j.num_queued, j.num_running, j.num_succeeded FROM jobs j
    JOIN (SELECT job_id, COUNT(*) AS n, SUM(status = 'queued') AS queued, SUM(status = 'leased') AS leased,
      SUM(status = 'running') AS running, SUM(status = 'succeeded') AS succeeded, SUM(status = 'failed') AS failed,
      SUM(status = 'cancelled') AS cancelled FROM tasks GROUP BY job_id) t ON t.job_id = j.id
    WHERE j.num_tasks <> t.n OR j.num_queued <> t.queued OR j.num_leased <> t.leased OR j.num_running <> t.running
      OR j.num_succeeded <> t.succeeded OR j.num_failed <> t.failed OR j.num_cancelled <> t.cancelled`,
  'a job without tasks or request': `SELECT id FROM jobs WHERE id NOT IN (SELECT job_id FROM tasks)
    OR id NOT IN (SELECT job_id FROM job_requests)`,
  'an ended job with open tasks': `SELECT j.id, j.status FROM jobs j WHERE j.status IN ('succeeded', 'failed', 'cancelled')
    AND EXISTS (SELECT 1 FROM tasks t WHERE t.job_id = j.id AND t.status IN ('queued', 'leased', 'running', 'lost'))`,
  'an attempt without its lease': `SELECT t.id, t.attempt, COUNT(e.id) AS leases FROM tasks t
    LEFT JOIN events e ON e.task_id = t.id AND e.type = 'task_leased' GROUP BY t.id HAVING leases < t.attempt`,
  'a name submitted once, stored twice': 'SELECT name, COUNT(*) AS n FROM jobs GROUP BY name HAVING n > 1',
};

/** The rows of the store by their ids, beside the ledger of those who asked. */
class Snapshot {
  readonly #state: string;
  readonly #ledger: Ledger;
  readonly #jobs: Map<string, Row>;
  readonly #tasks: Map<string, Row>;
  readonly #workers: Set<string>;
  readonly #notes: Map<string, number>;
  readonly #artifacts: Map<string, Row>;

  private constructor(state: string, ledger: Ledger, rows: Record<string, Row[]>) {
    const byId = (name: string) => new Map((rows[name] ?? []).map((row) => [row.id as string, row]));
    this.#state = state;
    this.#ledger = ledger;
    this.#jobs = byId('jobs');
    this.#tasks = byId('tasks');
    this.#workers = new Set(byId('workers').keys());
    this.#artifacts = byId('artifacts');
    this.#notes = new Map((rows.notes ?? []).map(({ message, n }) => [message as string, n as number]));
  }

  static async of(db: Database, state: string, ledger: Ledger): Promise<Snapshot> {
    const queries = {
      jobs: 'SELECT j.id, j.name, j.status, r.request FROM jobs j JOIN job_requests r ON r.job_id = j.id',
      tasks:
        'SELECT t.id, t.status, t.attempt, t.worker_id, t.result, t.error, j.name FROM tasks t JOIN jobs j ON j.id = t.job_id',
      workers: 'SELECT id FROM workers',
      artifacts: 'SELECT id, sha256, size_bytes, path FROM artifacts',
      notes: "SELECT message, COUNT(*) AS n FROM events WHERE type = 'note' GROUP BY message",
    };
    const rows: Record<string, Row[]> = {};
    for (const [name, sql] of Object.entries(queries)) rows[name] = await db.all<Row[]>(sql);
    return new Snapshot(state, ledger, rows);
  }

  jobs(acks: AckOf<'job'>[]): string[] {
    const missing = acks.flatMap(({ id, name, text }) => {
      const job = this.#jobs.get(id);
      if (!job) return [`the acknowledged job ${id} (${name}) is missing`];
      return says(job.name !== name || job.request !== text, `job ${id} is not what was submitted`);
    });
    const strange = [...this.#jobs.values()].filter((job) => !this.#ledger.submitted.has(job.name as string));
    return [...missing, ...strange.map(({ name }) => `job ${name} was never submitted`)];
  }

  cancels(acks: AckOf<'cancel'>[]): string[] {
    return acks.flatMap(({ job, status }) => {
      const now = this.#jobs.get(job)?.status;
      const stopped = now === 'cancelling' || now === 'cancelled';
      // An ended job stays what it was, unless somebody queued it again.
      const asAnswered = status.startsWith('cancel') ? stopped : now === status;
      return says(!asAnswered && !this.#ledger.retrySent.has(job), `job ${job}: ${status} became ${now}`);
    });
  }

  completes(acks: AckOf<'complete'>[]): string[] {
    const seen = new Set<string>();
    return acks.flatMap(({ task, job, attempt, worker, token }) => {
      const row = this.#tasks.get(task);
      if (seen.has(task)) return [`two results of task ${task} were acknowledged`];
      seen.add(task);
      if (row?.status === 'cancelled' && this.#ledger.cancelSent.has(job)) return [];
      if (row?.status !== 'succeeded') return [`task ${task} was completed, but is ${row?.status}`];
      const { extra, provenance } = JSON.parse(row.result as string);
      const right =
        extra.report === token && provenance.worker_id === worker && provenance.attempt === attempt;
      return says(!right, `task ${task}: the recorded result is not the acknowledged one: ${row.result}`);
    });
  }

  fails(acks: AckOf<'fail'>[]): string[] {
    return acks.flatMap(({ task, job, attempt, requeued, error }) => {
      const row = this.#tasks.get(task);
      if ((row?.attempt as number) < attempt) return [`task ${task} went back behind attempt ${attempt}`];
      const open = requeued || this.#ledger.retrySent.has(job) || this.#ledger.cancelSent.has(job);
      return says(
        !open && (row?.status !== 'failed' || row.error !== error),
        `task ${task} failed, is ${row?.status}`,
      );
    });
  }

  starts(acks: AckOf<'start'>[]): string[] {
    return acks.flatMap(({ task, attempt }) => {
      const row = this.#tasks.get(task);
      return says(
        !row || (row.attempt as number) < attempt,
        `task ${task}: attempt ${attempt} started, is ${row?.attempt}`,
      );
    });
  }

  told(events: AckOf<'event'>[], workers: AckOf<'worker'>[]): string[] {
    return [
      ...events.flatMap(({ token }) => says(this.#notes.get(token) !== 1, `the event '${token}' is missing`)),
      ...[...this.#notes].flatMap(([token, n]) =>
        says(n > 1, `the event '${token}' is there ${n} times, and was sent once`),
      ),
      ...workers.flatMap(({ id }) => says(!this.#workers.has(id), `worker ${id} is missing`)),
    ];
  }

  /** Whoever ran it: a result is that of this very task's job. */
  results(): string[] {
    return [...this.#tasks.values()].flatMap(({ id, status, result, name }) => {
      if (status !== 'succeeded') return says(result !== null, `task ${id} is ${status} and has a result`);
      return says(JSON.parse(result as string).extra?.token !== name, `task ${id} has a foreign result`);
    });
  }

  artifacts(acks: AckOf<'artifact'>[]): string[] {
    const missing = acks.flatMap(({ id, sha256, size }) => {
      const row = this.#artifacts.get(id);
      return says(row?.sha256 !== sha256 || row.size_bytes !== size, `artifact ${id} is missing or another`);
    });
    return [
      ...missing,
      ...[...this.#artifacts.values()].flatMap((row) =>
        blobFaults(join(this.#state, row.path as string), row),
      ),
    ];
  }
}

function blobFaults(path: string, { id, size_bytes, sha256 }: Row): string[] {
  try {
    if (statSync(path).size !== size_bytes) return [`the blob of artifact ${id} has another size`];
    const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
    return says(hash !== sha256, `the blob of artifact ${id} holds other bytes`);
  } catch (fault) {
    return [`the blob of artifact ${id} cannot be read: ${(fault as Error).message}`];
  }
}

/** Blobs that no artifact names. Only meaningful while nobody uploads. */
export async function strayBlobs(state: string): Promise<string[]> {
  const db = await open({
    filename: join(state, 'store.sqlite'),
    driver: sqlite3.Database,
    mode: sqlite3.OPEN_READONLY,
  });
  try {
    const named = new Set((await db.all<Row[]>('SELECT path FROM artifacts')).map(({ path }) => path));
    return readdirSync(join(state, 'objects'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(state.length + 1))
      .filter((path) => !named.has(path));
  } finally {
    await db.close();
  }
}
