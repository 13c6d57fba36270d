import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from 'pino';

/** Slurm answers at once, or is not to be waited for. */
const SLURM_TIMEOUT_MS = 20_000;

/** Seconds of notice that Slurm gives at least before it kills what it has told to end (`KillWait`), less the worker's own. */
const SLURM_NOTICE_SECONDS = 10;

/** A part of a machine that is lent for a time. */
export interface Allocation {
  /** When it ends; seconds since the epoch. Null where nobody knows. */
  endsAt: number | null;
  /** Seconds in which what runs may finish once it is told to end. */
  noticeSeconds: number;
}

/**
 * The allocation of Slurm in which this program runs; null where it runs in none. When it ends is in the environment from
 * Slurm 23.02 on; before, `squeue` is asked, once.
 */
export async function allocationOf(
  env: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<Allocation | null> {
  const { SLURM_JOB_ID: job, SLURM_JOB_END_TIME: end } = env;
  const { SLURM_ARRAY_JOB_ID: array, SLURM_ARRAY_TASK_ID: element } = env;
  if (!job) return null;
  // The last element of an array has the number of the whole.
  const id = array && element ? `${array}_${element}` : job;
  const endsAt = /^[0-9]+$/.test(end ?? '') ? Number(end) : await endInQueue(id, env, log);
  log.info({ job: id, ends_at: endsAt }, 'this worker runs in an allocation of Slurm');
  return { endsAt, noticeSeconds: SLURM_NOTICE_SECONDS };
}

async function endInQueue(
  id: string,
  env: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<number | null> {
  try {
    const { stdout } = await promisify(execFile)('squeue', ['--noheader', '--jobs', id, '--format', '%e'], {
      // A time without a zone, so that it is one that is known.
      env: { ...env, TZ: 'UTC', SLURM_TIME_FORMAT: 'standard' } as NodeJS.ProcessEnv,
      timeout: SLURM_TIMEOUT_MS,
    });
    const ms = Date.parse(`${stdout.trim()}Z`);
    // `N/A` or `NONE` where there is no limit.
    return Number.isNaN(ms) ? null : ms / 1000;
  } catch (error) {
    log.warn({ why: (error as Error).message }, 'squeue does not say when this allocation ends');
    return null;
  }
}
