import { setImmediate } from 'node:timers/promises';
import type { StoredBytes } from '../../../gateway/backend.ts';
import { at } from '../../../machines/json/raw.ts';
import { versionMet } from '../../../machines/matching/library-version.ts';
import { declaredVersion } from '../../../machines/matching/matching.ts';
import { rankValuesOf } from '../../../machines/ranking/standing.ts';
import type { Requirements } from '../../../machines/schema/job.ts';
import { libraryOf } from '../../../machines/schema/job-types.ts';
import type { TaskEvent } from '../../../machines/task/task.ts';
import type { Core } from '../core.ts';
import type { JobCell, TaskCell } from '../runtime/actor-cell.ts';
import { matching } from '../scheduling/eligibility.ts';
import type { JobRow } from '../store/rows.ts';
import { sql } from '../store/sql.ts';
import { each, JOIN, member, membersIn } from '../store/sql-words.ts';
import type { Turn } from '../turn/turn.ts';
import { fetchJobPieces } from './fetch-job-pieces.ts';
import { expectedFingerprint, type JobPieces } from './job-pieces.ts';

/** Bytes of results, and of the artifacts that belong to them, that one slice reads. */
const MOST_READ = 32 * 1024 * 1024;

/** A task that computed what a queued one asks for. */
interface Computed {
  /** Place of the queued one among those that are looked at. */
  place: number;
  seq: number;
  id: string;
  job_id: string;
  model_artifact_id: string | null;
  bytes: number;
}

/** What the next tasks of a job are told: some of them the result of an equal one. */
export interface Answers {
  /** How many of them were looked at. */
  looked: number;
  events: Map<TaskCell, TaskEvent>;
}

/**
 * Looks for equal tasks that succeeded before, for tasks of a job that asks for it; with one look-up for each. One
 * whose files are not all there any more is none: then the task is computed.
 */
export async function answersFor(
  turn: Turn,
  { row: job }: JobCell,
  tasks: readonly TaskCell[],
): Promise<Answers> {
  const { core } = turn;
  const versions = versionsFor(core, libraryOf(job.type));
  const wanted = tasks.flatMap(({ row }, place) => {
    const version = row.content_key === null ? null : versions(row.requirement_id);
    return version === null ? [] : [[place, row.content_key, version]];
  });
  const events: Answers['events'] = new Map();
  if (wanted.length === 0) return { looked: tasks.length, events };
  const found = await look(core, job, wanted);
  const files = await filesOf(core, found);
  const jobPieces = job.pins_fingerprint ? await fetchJobPieces(turn, [job.id]) : undefined;
  const pieces = jobPieces?.get(job.id);
  let read = 0;
  for (const computed of found) {
    const all = files.get(computed.id) ?? [];
    const cost = all.reduce((sum, file) => sum + (isRead(file) ? file.size_bytes : 0), computed.bytes);
    if (read > 0 && read + cost > MOST_READ) return { looked: computed.place, events };
    read += cost;
    const task = tasks[computed.place] as TaskCell;
    const event = await eventOf(core, job, computed, all);
    if (event && isExpected(event.result, task, pieces)) events.set(task, event);
    await setImmediate();
  }
  return { looked: tasks.length, events };
}

/** The version of the library that a task would meet, by the number of its requirements. One that leaves takes none. */
function versionsFor(
  core: Pick<Core, 'directory' | 'queue'>,
  library: string,
): (requirement: number) => string | null {
  const known = new Map<number, string | null>();
  return (requirement) => {
    const found = known.get(requirement);
    if (found !== undefined) return found;
    const staying = [...matching(core, requirement)].filter(({ row }) => row.leaving === null);
    const declared = staying.map(({ row }) => declaredVersion(row.version, library));
    const { packages = {} } = JSON.parse(core.queue.requirements.document(requirement)) as Requirements;
    const version = versionMet(declared, packages[library] ?? '');
    known.set(requirement, version);
    return version;
  };
}

/** In the order of the places; of several owners' the own one. */
function look(
  { store }: Pick<Core, 'store'>,
  { owner, reuse }: JobRow,
  wanted: unknown[],
): Promise<Computed[]> {
  const whose =
    reuse === 'any'
      ? `(SELECT o.owner FROM computed o WHERE o.content_key = c.content_key AND o.version = c.version
          ORDER BY o.owner <> ?1 LIMIT 1)`
      : '?1';
  return store.reader.all<Computed[]>(
    sql`SELECT ${member('w.value', 0, 'bigint')} AS place, t.seq, t.id, t.job_id, t.model_artifact_id, octet_length(t.result) AS bytes
     FROM ${each('?2', 'text', 'w')}
     ${JOIN} computed c ON c.content_key = ${member('w.value', 1)} AND c.version = ${member('w.value', 2)}
     ${JOIN} tasks t ON t.seq = c.task_seq ${JOIN} jobs j ON j.id = t.job_id
     WHERE c.owner = ${whose} ORDER BY w.key`,
    ...[owner, JSON.stringify(wanted)],
  );
}

/** By task: all that its last attempt left, and what else its result names. */
async function filesOf(
  { store }: Pick<Core, 'store'>,
  found: readonly Computed[],
): Promise<Map<string, StoredBytes[]>> {
  const rows = await store.reader.all<(StoredBytes & { task_id: string })[]>(
    sql`SELECT t.id AS task_id, u.artifact_id AS id, a.sha256, a.size_bytes FROM ${each('?', 'bigint', 'w')}
     ${JOIN} tasks t ON t.seq = w.value
     ${JOIN} task_artifacts u ON u.task_id = t.id
     LEFT JOIN artifacts a ON a.id = u.artifact_id
     WHERE (a.id IS NOT NULL OR u.role <> 'logs') AND (u.attempt = t.attempt OR u.artifact_id IN (
       SELECT n.value FROM ${membersIn('t.result', 'artifacts')} n))`,
    JSON.stringify(found.map(({ seq }) => seq)),
  );
  const files = new Map<string, StoredBytes[]>();
  for (const { task_id, ...file } of rows) files.set(task_id, [...(files.get(task_id) ?? []), file]);
  return files;
}

/** Of larger files it is only looked whether they are there, in their full length. */
const isRead = ({ size_bytes }: StoredBytes): boolean => size_bytes > 0 && size_bytes <= MOST_READ;

async function isWhole({ blobs, log }: Pick<Core, 'blobs' | 'log'>, file: StoredBytes): Promise<boolean> {
  // Its own time is over.
  if (file.sha256 === null) return false;
  try {
    await blobs.assertWhole(file);
    // Read to the end, it is verified.
    if (isRead(file)) for await (const _ of blobs.read(file, 0, file.size_bytes - 1));
    return true;
  } catch (error) {
    log.warn({ artifact: file.id, why: (error as Error).message }, 'a result is not used again');
    return false;
  }
}

async function eventOf(
  core: Pick<Core, 'store' | 'blobs' | 'log'>,
  job: JobRow,
  { seq, id, job_id, model_artifact_id }: Computed,
  files: readonly StoredBytes[],
): Promise<Extract<TaskEvent, { type: 'REUSED' }> | null> {
  const whole = await Promise.all(files.map((file) => isWhole(core, file)));
  if (whole.includes(false)) return null;
  const row = await core.store.reader.get<{ result: string }>('SELECT result FROM tasks WHERE seq = ?', seq);
  if (!row) return null;
  const metrics = at(row.result, 'metrics') ?? '{}';
  const named = JSON.parse(metrics) as Record<string, unknown> | null;
  return {
    type: 'REUSED',
    result: row.result,
    metrics,
    ...rankValuesOf(job.standings, named ?? {}),
    model_artifact_id,
    reused_from: { job_id, task_id: id },
  };
}

/** Who pins a fingerprint is not answered with the result of another pipeline. */
function isExpected(result: string, { row }: TaskCell, pieces: JobPieces | undefined): boolean {
  const expected = pieces ? expectedFingerprint(pieces, row.payload.pipeline) : null;
  return expected === null || JSON.stringify(expected) === at(result, 'pipeline_fingerprint');
}
