import { join } from 'node:path';
import { type Database, open } from 'sqlite';
import sqlite3 from 'sqlite3';

type Db = Database<sqlite3.Database, sqlite3.Statement>;

/**
 * Multiplies the jobs of a stopped server's store: each copy is a job row with its request and its tasks, ids and
 * times of its own, everything else as the server itself wrote it. It takes seconds where submitting a million
 * jobs takes many minutes, and follows any change of the columns, since it only names those that must differ.
 * @param jobs ids of the jobs to copy, in turns
 * @param copies how many jobs are made
 * @param events whether their events are copied too
 */
export async function cloneJobs(
  stateDir: string,
  jobs: readonly string[],
  copies: number,
  events = false,
): Promise<void> {
  const db: Db = await open({ filename: join(stateDir, 'store.sqlite'), driver: sqlite3.Database });
  try {
    await db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN');
    await listCopies(db, jobs, copies);
    await copyRows(db, 'jobs', 'old.id = copies.template', {
      seq: '(SELECT MAX(seq) FROM jobs) + copies.n',
      id: 'copies.job_id',
      // The cursor of the list: every job has a time of its own.
      created_at: '(SELECT MAX(created_at) FROM jobs) + copies.n / 1000.0',
      name: "'run-' || copies.n",
      name_folded: "'run-' || copies.n",
      idempotency_key: 'NULL',
      standings: 'NULL',
      best_task_id: `CASE WHEN old.best_task_id IS NULL THEN NULL ELSE ${newTask('old.best_task_id')} END`,
    });
    await copyRows(db, 'job_requests', 'old.job_id = copies.template', { job_id: 'copies.job_id' });
    await copyRows(db, 'tasks', 'old.job_id = copies.template', {
      seq: '(SELECT MAX(seq) FROM tasks) + row_number() OVER ()',
      id: newTask('old.id'),
      job_id: 'copies.job_id',
    });
    if (events) {
      await copyRows(db, 'events', 'old.job_id = copies.template', {
        id: '(SELECT MAX(id) FROM events) + row_number() OVER ()',
        job_id: 'copies.job_id',
        task_id: `CASE WHEN old.task_id IS NULL THEN NULL ELSE ${newTask('old.task_id')} END`,
      });
    }
    // What follows from the rows: the index of names, and the tally, which the next start counts anew.
    await db.exec("INSERT INTO job_names (job_names) VALUES ('rebuild'); DELETE FROM tally");
    await db.exec('COMMIT; DROP TABLE copies; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    await db.close();
  }
}

/** The id of a copied task: the copy's number where the original has its time, so that it sorts as it was made. */
const newTask = (id: string): string => `printf('task_%010d', copies.n) || substr(${id}, 16)`;

async function listCopies(db: Db, jobs: readonly string[], copies: number): Promise<void> {
  await db.exec('CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY, template TEXT, job_id TEXT)');
  await db.run(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
     INSERT INTO copies SELECT n, value, printf('job_%010d', n) || lower(hex(randomblob(8)))
     FROM numbers JOIN json_each(?) ON key = n % ?`,
    copies,
    JSON.stringify(jobs),
    jobs.length,
  );
}

/** @param changed SQL of the columns that differ from the original's, which is `old` */
async function copyRows(
  db: Db,
  table: string,
  join: string,
  changed: Readonly<Record<string, string>>,
): Promise<void> {
  const columns = await db.all<{ name: string }[]>(`PRAGMA table_info(${table})`);
  const names = columns.map(({ name }) => name);
  const missing = Object.keys(changed).find((name) => !names.includes(name));
  if (missing) throw new Error(`the table ${table} has no column ${missing}; the seeding is to be revised`);
  const values = names.map((name) => changed[name] ?? `old.${name}`);
  await db.exec(
    `CREATE TEMP TABLE made AS SELECT ${values.map((value, i) => `${value} AS c${i}`).join(', ')}
     FROM copies JOIN ${table} AS old ON ${join} ORDER BY copies.n;
     INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM made; DROP TABLE made`,
  );
}
