import type { ClusterError, ErrorCode } from '../../machines/protocol/errors.ts';
import { MOST_FAULTS, type ValidationIssue } from '../../machines/schema/validate.ts';

/** The HTTP status of every error code, and when it is given (docs/protocol.md#errors). */
export const ERRORS: Readonly<Record<ErrorCode, { status: number; when: string }>> = {
  malformed_request: {
    status: 400,
    when: 'the head can be read in two ways: a repeated Host, Content-Length or Authorization, an unknown encoding',
  },
  malformed_body: { status: 400, when: 'the body is not JSON, YAML or multipart as the endpoint takes it' },
  malformed_query: { status: 400, when: 'a query parameter cannot be read' },
  python_jobs_disabled: {
    status: 400,
    when: 'a python_entrypoint pipeline, or a model that is code and was uploaded or made by such a pipeline, without --allow-python-jobs',
  },
  unauthenticated: { status: 401, when: 'the credential is missing or unknown' },
  missing_rights: { status: 403, when: 'the credential lacks a right that the endpoint requires' },
  not_owner: {
    status: 403,
    when: "the worker or task belongs to another principal's worker, or the job to another principal",
  },
  origin_refused: { status: 403, when: 'a browser of a foreign origin; see --cors-origin' },
  host_refused: { status: 403, when: 'an open server on loopback asked under another host name' },
  unknown_path: { status: 404, when: 'no such path' },
  unknown_id: { status: 404, when: 'no job, task, worker or artifact with this id, or no such file' },
  method_not_allowed: { status: 405, when: 'the path exists for other methods; see Allow' },
  illegal_transition: { status: 409, when: 'the state does not allow what was asked' },
  not_holder: { status: 409, when: 'the reporting worker does not hold the task' },
  stale_attempt: { status: 409, when: 'the report is for an earlier attempt' },
  superseded: {
    status: 409,
    when: 'the worker has registered again since; the program of the older session is another',
  },
  idempotency_conflict: { status: 409, when: 'the idempotency key was used with another body' },
  job_not_ended: { status: 409, when: 'the best model of the job is not known before the job has ended' },
  job_kept: { status: 409, when: 'the job is kept for ever; nobody deletes it before that is taken back' },
  job_in_use: { status: 409, when: 'another job has the results of this one' },
  artifact_expired: {
    status: 410,
    when: 'the bytes of the artifact were deleted, as the server is set (--keep-artifacts, --keep-logs)',
  },
  artifact_lost: {
    status: 410,
    when: 'the bytes of the artifact are missing or damaged on the server; uploading the same bytes again mends it',
  },
  body_too_large: { status: 413, when: 'the body exceeds --max-request-mb' },
  artifact_too_large: { status: 413, when: 'the artifact exceeds --max-artifact-mb' },
  range_not_satisfiable: { status: 416, when: 'the range lies outside the artifact' },
  invalid_body: { status: 422, when: 'the body is well-formed but not valid; all faults are listed' },
  too_many_tasks: { status: 422, when: 'the job decomposes into more than 100,000 tasks' },
  body_too_complex: { status: 422, when: 'the body would take too long to read, or too much memory' },
  incompatible_api: { status: 426, when: 'the protocol major of the request is another one' },
  upgrade_required: { status: 426, when: 'a WebSocket stream asked for without an upgrade' },
  internal: { status: 500, when: 'a fault of the server itself; it is in the log' },
  store_damaged: { status: 500, when: 'pages of the store are damaged; the log says what its owner can do' },
  store_unavailable: { status: 503, when: 'the store cannot commit; nothing was accepted' },
  objects_unavailable: {
    status: 503,
    when: 'the disk of the artifacts, or the object store (--objects), cannot be used just now, so that artifacts are neither taken nor given; all else goes on',
  },
  standing_by: {
    status: 503,
    when: 'another server on the same database leads and cannot be reached, or this one is just taking over; nothing was accepted. The sentence says who led last, where that is known',
  },
  draining: { status: 503, when: 'the server is shutting down' },
  overloaded: { status: 503, when: 'more is under way than the server can hold; nothing was accepted' },
  no_room: { status: 507, when: 'there is no room for the artifact' },
};

/** The body of an error answer (docs/protocol.md#errors). */
export interface ErrorBody {
  detail: string;
  code: ErrorCode;
  errors?: ValidationIssue[];
}

/**
 * Characters that an answer repeats of what was sent, and faults; a person reads no more, and a name may have
 * megabytes.
 */
const LONGEST = { detail: 2_000, fault: 500, faults: 2 * MOST_FAULTS };

/** The error as it is answered; texts that quote a request at length are cut. */
export function errorBody(error: ClusterError): ErrorBody {
  const body: ErrorBody = { detail: cut(error.message, LONGEST.detail), code: error.code };
  if (error.faults) {
    body.errors = error.faults.slice(0, LONGEST.faults).map(({ path, message, line }) => ({
      path: cut(path, LONGEST.fault),
      message: cut(message, LONGEST.fault),
      ...(line !== undefined && { line }),
    }));
  }
  return body;
}

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`);

export function statusOf(error: ClusterError): number {
  return ERRORS[error.code].status;
}
