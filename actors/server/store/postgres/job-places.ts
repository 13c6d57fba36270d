import { ENDED_STATUSES } from '../../../../machines/schema/statuses.ts';
import { sqlWords } from '../sql-words.ts';

/*
 * What a job is listed by and changes stands in a row of its own, in `job_places`: so a row of `jobs` changes without its
 * indexes (the migration that made it). It follows from the job's row, and is written by the same statement.
 */

const HAS_ENDED = `j.status IN (${sqlWords(ENDED_STATUSES)})`;

/** What changes of a place, as it follows from a job `j`. */
const CHANGING = {
  status: 'j.status',
  ended_at: `CASE WHEN ${HAS_ENDED} THEN j.updated_at END`,
  kept_until: `CASE WHEN ${HAS_ENDED} THEN j.updated_at + j.keep_seconds END`,
};
const FIXED = { seq: 'j.seq', owner: 'j.owner', type: 'j.type', created_at: 'j.created_at' };
const ALL = { ...FIXED, ...CHANGING };

const insertFrom = (jobs: string): string =>
  `INSERT INTO job_places (${Object.keys(ALL).join(', ')}) SELECT ${Object.values(ALL).join(', ')} FROM ${jobs} AS j`;

const names = Object.keys(CHANGING);
const present = `(${names.map((name) => `p.${name}`).join(', ')})`;
const wanted = `(${Object.values(CHANGING).join(', ')})`;

/** SQL: the places of all jobs that there are. */
export const PLACES_OF_ALL = insertFrom('jobs');

/** How jobs are written. */
export type JobWriting = 'insert' | 'update';

/** SQL: of jobs that a part of a statement has written, what their places need to know. */
export const WRITTEN_JOBS: Readonly<Record<JobWriting, string>> = {
  insert: 'RETURNING seq, status, owner, type, created_at, updated_at, keep_seconds',
  update: 'RETURNING jobs.seq, jobs.status, jobs.updated_at, jobs.keep_seconds',
};

/** SQL: writes the places of jobs that a part of the statement has written. @param part its name */
export const placesOf = (part: string, writing: JobWriting): string =>
  writing === 'insert'
    ? insertFrom(part)
    : `UPDATE job_places AS p SET ${names.map((name) => `${name} = ${CHANGING[name as keyof typeof CHANGING]}`).join(', ')}
       FROM ${part} AS j WHERE p.seq = j.seq AND ${present} IS DISTINCT FROM ${wanted}`;
