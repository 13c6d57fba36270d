import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError } from '../../../gateway/client/errors.ts';
import { type Named, referredTo } from '../../../machines/protocol/reference.ts';
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
 * The id of the job that a person named: by its id, the beginning or the end of it, or its name. What fits no job is
 * given back as it is, for the server to say so: ids of other servers may have any form.
 * @throws CliError with the candidates where it fits several
 */
export async function findJob(client: ClusterClient, text: string): Promise<string> {
  if (WHOLE_ID.test(text)) return text;
  const jobs = await listIfAny(client, { ref: text });
  const now = Date.now() / 1000;
  const describe = (job: JobView) => `${jobWords(job)}, submitted ${ago(now - job.created_at)}`;
  return uniqueMatch(text, 'job', referredTo(text, jobs), describe)?.id ?? text;
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
 * @throws CliError with the candidates where there are several
 */
export function uniqueMatch<T extends Named>(
  text: string,
  what: string,
  found: readonly T[],
  describe: (one: T) => string,
): T | undefined {
  if (found.length < 2) return found[0];
  const details = found
    .slice(0, LISTED)
    .map((one) => `${one.id}  ${one.name ? `${one.name}, ` : ''}${describe(one)}`);
  if (found.length > LISTED)
    details.push(found.length < ASKED ? `and ${found.length - LISTED} more` : 'and more');
  throw new CliError(EXIT.usage, `'${text}' may be any of these ${what}s; write more of the id`, { details });
}
