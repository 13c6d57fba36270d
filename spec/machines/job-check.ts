import { JobSpec } from '../../machines/schema/job.ts';
import { validator } from '../../machines/schema/validate.ts';

export const checkJob = validator(JobSpec);

/** A job that is right; each test changes what it is about. */
export const base = {
  type: 'mljs.run',
  pipeline: { kind: 'path', path: '/data/pls.yaml' },
  dataset: { kind: 'shared_path', path: '/data/gasoline' },
} as const;

/** `path message` of each fault. */
export function faults(check: ReturnType<typeof validator>, value: unknown): string[] {
  const checked = check(value);
  return checked.ok ? [] : checked.faults.map(({ path, message }) => `${path} ${message}`);
}

export const jobFaults = (changes: object) => faults(checkJob, { ...base, ...changes });
