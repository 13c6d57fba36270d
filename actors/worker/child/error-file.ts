import type { FaultClass } from '../../../machines/schema/report.ts';

/** What a runner that failed says of it in the result file (docs/runners.md#how-it-ends). */
export interface ErrorReport {
  error: string;
  fault?: FaultClass;
  /** With the fault `worker`: the path that is missing here. */
  missing_path?: string;
}

const FAULTS: readonly string[] = ['task', 'input', 'worker'] satisfies FaultClass[];

/** Null for a result that tells of success, or is none. */
export function errorReportIn(value: unknown): ErrorReport | null {
  const { status, error, fault, missing_path } = (value ?? {}) as Record<string, unknown>;
  if (typeof status !== 'string' || status === 'succeeded') return null;
  return {
    error: typeof error === 'string' && error ? error : `the analysis reports status '${status}'`,
    ...(typeof fault === 'string' && FAULTS.includes(fault) && { fault: fault as FaultClass }),
    ...(typeof missing_path === 'string' && missing_path !== '' && { missing_path }),
  };
}
