import type { ValidationIssue } from '../schema/validate.ts';
import { AppError } from './app-error.ts';

/**
 * Every error that a client may see, by its code. The HTTP status of each stands in
 * `gateway/contract/errors.ts`; the words here are shared by all floors.
 */
export const ERROR_CODES = [
  'malformed_request',
  'malformed_body',
  'malformed_query',
  'python_jobs_disabled',
  'unauthenticated',
  'missing_rights',
  'not_owner',
  'origin_refused',
  'host_refused',
  'unknown_path',
  'unknown_id',
  'method_not_allowed',
  'illegal_transition',
  'not_holder',
  'stale_attempt',
  'superseded',
  'idempotency_conflict',
  'job_not_ended',
  'job_kept',
  'job_in_use',
  'artifact_expired',
  'artifact_lost',
  'body_too_large',
  'artifact_too_large',
  'range_not_satisfiable',
  'invalid_body',
  'too_many_tasks',
  'body_too_complex',
  'incompatible_api',
  'upgrade_required',
  'internal',
  'store_damaged',
  'store_unavailable',
  'objects_unavailable',
  'standing_by',
  'draining',
  'overloaded',
  'no_room',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** An error that a client sees; for validation with all faults. */
export class ClusterError extends AppError {
  readonly code: ErrorCode;
  readonly faults: ValidationIssue[] | undefined;

  constructor(
    code: ErrorCode,
    detail: string,
    more: ErrorOptions & { faults?: ValidationIssue[] | undefined } = {},
  ) {
    super(detail, more);
    this.code = code;
    this.faults = more.faults;
  }

  /** A body that is valid JSON but not what the endpoint takes; the sentence names the first faults. */
  static invalid(what: string, faults: ValidationIssue[]): ClusterError {
    const shown = faults.slice(0, 3).map((f) => `${f.path} ${f.message}`);
    const more = faults.length > 3 ? `; and ${faults.length - 3} more` : '';
    return new ClusterError('invalid_body', `invalid ${what}: ${shown.join('; ')}${more}`, { faults });
  }

  static unknown(what: string, id: string): ClusterError {
    return new ClusterError('unknown_id', `no ${what} with id '${id}'`);
  }
}
