import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError } from '../../../gateway/client/errors.ts';
import { type Named, readReference, referredTo } from '../../../machines/protocol/reference.ts';
import type { JobView } from '../../../machines/schema/views.ts';
import { CliError, EXIT, usageError } from '../../cli/exit.ts';
import { ago } from '../../terminal/format.ts';
import { jobWords } from '../../terminal/status-style.ts';

/** A whole id, for which the server need not be asked. */
const WHOLE_ID = /^job_[0-9a-z]{26}$/;
/** Candidates that are asked for, and that are listed. */
const ASKED = 100;
const LISTED = 10;

/**
 * The id of the job that a person named: by its id, the beginning or the end of it, or its name, one's own before those
 * of others. What fits no job is given back as it is, for the server to say so: ids of other servers may have any form.
 * @throws CliError with the candidates where it fits several
 */
export async function findJob(client: ClusterClient, text: string): Promise<string> {
  if (WHOLE_ID.test(text)) return text;
  const found = await jobsNamed(client, text);
  const now = Date.now() / 1000;
  const describe = (job: JobView) =>
    `${jobWords(job)}, submitted ${ago(now - job.created_at)}${job.owner === null ? '' : ` by ${job.owner}`}`;
  return uniqueMatch(text, 'job', found, describe, newestOf)?.id ?? text;
}

/**
 * The jobs that a text can mean, the newest first. Of those that are called so, where the asking principal has one or
 * more, only these are meant.
 */
export async function jobsNamed(client: ClusterClient, text: string): Promise<JobView[]> {
  const found = referredTo(text, await listIfAny(client, { ref: text }));
  if (found.length < 2 || !found.some((job) => isCalled(text, job))) return found;
  const owner = await whoAmI(client);
  if (owner === undefined) return found;
  // Of very many, one's own may not be among the newest.
  const own = referredTo(text, await listIfAny(client, { ref: text, owner })).filter(
    (job) => job.owner === owner && isCalled(text, job),
  );
  return own.length === 0 ? found : [...found.filter((job) => !isCalled(text, job)), ...own];
}

const isCalled = (text: string, { name }: Named): boolean => name?.toLowerCase() === readReference(text).name;

function newestOf(jobs: readonly JobView[]): string {
  const [first, ...others] = jobs;
  const newest = others.reduce(
    (best, job) => (best && best.created_at >= job.created_at ? best : job),
    first,
  );
  return `the newest of them is ${newest?.id}`;
}

/** Some jobs; a server that does not know a member of the query answers with its newest ones, or refuses. */
async function listIfAny(client: ClusterClient, query: { ref?: string; owner?: string }): Promise<JobView[]> {
  try {
    return await client.call('listJobs', { query: { ...query, limit: ASKED } });
  } catch (error) {
    if (error instanceof ResponseError && [400, 404, 422].includes(error.status)) return [];
    throw error;
  }
}

/** The id of the newest job that this credential submitted. @throws CliError where there is none */
export async function lastJob(client: ClusterClient): Promise<string> {
  const principal = await whoAmI(client);
  const jobs = await listIfAny(client, principal === undefined ? {} : { owner: principal });
  const own = jobs.find(({ owner }) => principal === undefined || owner === null || owner === principal);
  if (own !== undefined) return own.id;
  const whose = principal === undefined ? '' : ` of '${principal}'`;
  throw usageError(`--last: there is no job${whose}`, 'list the jobs with: jqctl jobs');
}

/** Undefined where the server has no such question. */
async function whoAmI(client: ClusterClient): Promise<string | undefined> {
  try {
    return (await client.call('getMe')).principal;
  } catch (error) {
    if (error instanceof ResponseError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * The one that a text means; undefined for none.
 * @param what is meant, such as `job`
 * @param describe what tells candidates apart, beside their ids and names
 * @param hint what to write instead
 * @throws CliError with the candidates where there are several
 */
export function uniqueMatch<T extends Named>(
  text: string,
  what: string,
  found: readonly T[],
  describe: (one: T) => string,
  hint?: (found: readonly T[]) => string,
): T | undefined {
  if (found.length < 2) return found[0];
  const details = found
    .slice(0, LISTED)
    .map((one) => `${one.id}  ${one.name ? `${one.name}, ` : ''}${describe(one)}`);
  if (found.length > LISTED)
    details.push(found.length < ASKED ? `and ${found.length - LISTED} more` : 'and more');
  const message = found.every((one) => isCalled(text, one))
    ? `several ${what}s are called '${text}'; name one by its id, or a part of it`
    : `'${text}' may be any of these ${what}s; write more of the id`;
  throw new CliError(EXIT.usage, message, { details, ...(hint && { hint: hint(found) }) });
}
