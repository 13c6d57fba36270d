import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MARK } from '../../actors/server/blobs/shared-folder.ts';
import type { Queries } from '../../actors/server/store/sql.ts';
import { type Happening, History } from '../history/history.ts';
import { compareCounts, type JobRow, Rows, type TaskRow } from '../history/rows.ts';
import { lookInto, SNAPSHOT, storeOf } from '../support/test-store.ts';
import { type AckOf, type Ledger, only } from './ledger.ts';

type Row = Record<string, string | number | null>;

/**
 * Compares a state directory with its own events and with what was acknowledged until now, in one snapshot of the
 * store, so that the server may go on meanwhile. One for the whole life of the directory: events only ever come after
 * those that were seen.
 */
export class Comparison {
  readonly #state: string;
  readonly #ledger: Ledger;
  readonly #store: string | undefined;
  readonly #history = new History();
  readonly #rows = new Rows(this.#history);

  /** @param store where the rows are, in PostgreSQL; undefined: in that directory */
  constructor(state: string, ledger: Ledger, store = storeOf(state)) {
    this.#state = state;
    this.#ledger = ledger;
    this.#store = store;
  }

  /** How many tasks refitted what a job selected. */
  get refits(): number {
    return this.#history.refits;
  }

  /** @returns what is wrong, a line each; nothing when all is well */
  async make(): Promise<string[]> {
    const acks = this.#ledger.read();
    const look = async (db: Queries) => {
      await db.all(SNAPSHOT);
      const view = await Snapshot.of(db, this.#state, this.#ledger);
      return [
        ...(await this.#structure(db)),
        ...(await this.#events(db)),
        ...view.jobs(only(acks, 'job')),
        ...view.cancels(only(acks, 'cancel')),
        ...view.completes(only(acks, 'complete')),
        ...view.fails(only(acks, 'fail')),
        ...view.starts(only(acks, 'start')),
        ...view.told(only(acks, 'event'), only(acks, 'worker')),
        ...view.results(),
        ...view.artifacts(only(acks, 'artifact')),
      ];
    };
    return lookInto(this.#state, look, this.#store);
  }

  /** Rules that hold for every store, whoever asked for what. PostgreSQL looks after its pages by itself. */
  async #structure(db: Queries): Promise<string[]> {
    const own = this.#store === undefined ? await pages(db) : [];
    const mute = await db.all<Row[]>('SELECT id FROM jobs WHERE id NOT IN (SELECT job_id FROM job_requests)');
    return [...own, ...mute.map(({ id }) => `job ${id} has no request`)];
  }

  /** Each event follows from those before it, and the rows are what the events say. */
  async #events(db: Queries): Promise<string[]> {
    try {
      const events = await db.all<(Happening & { data: string })[]>(EVENTS, this.#history.lastId);
      this.#history.take(events.map((event) => ({ ...event, data: JSON.parse(event.data) })));
      for (const id of this.#history.moved) this.#rows.compareJob(await jobRow(db, id), null);
      this.#history.settle();
      const tally = await db.get<{ jobs: string; tasks: string }>('SELECT jobs, tasks FROM tally');
      compareCounts('jobs by status', JSON.parse(tally?.jobs ?? '{}'), this.#history.jobCounts);
      compareCounts('tasks by status', JSON.parse(tally?.tasks ?? '{}'), this.#history.taskCounts);
      return [];
    } catch (fault) {
      return [(fault as Error).message];
    }
  }
}

const EVENTS = 'SELECT id, type, job_id, task_id, worker_id, data FROM events WHERE id > ? ORDER BY id';
const JOB = `SELECT id, status, num_queued + num_leased AS queued, num_running AS running, num_succeeded AS succeeded,
  num_failed AS failed, num_cancelled AS cancelled FROM jobs WHERE id = ?`;
const TASKS = `SELECT id, status, attempt, worker_id AS worker, lease_expires_at AS "leaseEnds", result,
  reused_from AS "reusedFrom" FROM tasks WHERE job_id = ? ORDER BY seq`;

async function jobRow(db: Queries, id: string): Promise<JobRow> {
  const { status, ...counts } = (await db.get<JobRow['counts'] & { status: string }>(JOB, id)) ?? {
    ...{ status: 'missing', queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 },
  };
  return { id, status, counts, tasks: await db.all<TaskRow[]>(TASKS, id) };
}

const says = (wrong: boolean, words: string): string[] => (wrong ? [words] : []);

async function pages(db: Queries): Promise<string[]> {
  const [check] = await db.all<Row[]>('PRAGMA integrity_check');
  return says(check?.integrity_check !== 'ok', `integrity_check: ${JSON.stringify(check)}`);
}

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

  static async of(db: Queries, state: string, ledger: Ledger): Promise<Snapshot> {
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
    const names = [...this.#jobs.values()].map(({ name }) => name as string);
    const strange = names.filter((name) => !this.#ledger.submitted.has(name));
    const doubled = names.filter((name, i) => names.indexOf(name) !== i);
    return [
      ...missing,
      ...strange.map((name) => `job ${name} was never submitted`),
      ...doubled.map((name) => `job ${name} was submitted once, and is stored twice`),
    ];
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
      if (status !== 'succeeded') return [];
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

/** Blobs that no artifact names, beside the mark that says whose they are. Only meaningful while nobody uploads. */
export async function strayBlobs(state: string): Promise<string[]> {
  return lookInto(state, async (db) => {
    const named = new Set((await db.all<Row[]>('SELECT path FROM artifacts')).map(({ path }) => path));
    return readdirSync(join(state, 'objects'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== MARK)
      .map((entry) => join(entry.parentPath, entry.name).slice(state.length + 1))
      .filter((path) => !named.has(path));
  });
}
