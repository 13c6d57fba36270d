import { AppError } from '../../machines/protocol/app-error.ts';
import type { ValidationIssue } from '../../machines/schema/validate.ts';

/** The server answered with an error (docs/protocol.md#errors). */
export class ResponseError extends AppError {
  readonly status: number;
  readonly code: string;
  /** Whether the server says the code itself; what stands in front of one may not. */
  readonly isNamed: boolean;
  readonly faults: ValidationIssue[];
  /** Seconds after which the server asks to try again, if it says so. */
  readonly retryAfter: number | undefined;

  /** @param said the body of the answer; servers of other make may say less in it, or otherwise */
  constructor(status: number, said: unknown, retryAfter?: number) {
    const body = isObject(said) ? said : {};
    const detail = sentenceOf(body.detail);
    super(detail ?? `the server answered ${status}`);
    this.status = status;
    this.isNamed = typeof body.code === 'string';
    this.code = typeof body.code === 'string' ? body.code : codeOf(status, detail);
    this.faults = faultsIn(body.errors);
    this.retryAfter = retryAfter;
  }

  /** Whether the credential is to blame. */
  get denied(): boolean {
    return this.status === 401 || this.status === 403;
  }

  /** Whether the same request may succeed later without anybody changing it. */
  get transient(): boolean {
    return this.status === 503 || this.status === 502 || this.status === 504 || this.status === 507;
  }
}

/** An answer that is no refusal, but does not say what is needed to go on. */
export class InvalidResponseError extends AppError {
  readonly code = 'invalid_response';
  /** Whether it is JSON at all; what is not comes from something between here and the server. */
  readonly isJson: boolean;

  constructor(message: string, isJson: boolean) {
    super(message);
    this.isJson = isJson;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A sentence of what a server says is wrong: as a text, as a list of faults with their places, or as anything. */
function sentenceOf(detail: unknown): string | undefined {
  if (typeof detail === 'string' && detail !== '') return detail;
  if (detail === undefined || detail === null || detail === '') return undefined;
  if (!Array.isArray(detail)) return JSON.stringify(detail);
  const parts = detail.map((error: unknown) => {
    if (!isObject(error) || typeof error.msg !== 'string') return sentenceOf(error) ?? '?';
    return `${Array.isArray(error.loc) ? `${error.loc.join('.')}: ` : ''}${error.msg}`;
  });
  return parts.join('; ') || undefined;
}

function faultsIn(errors: unknown): ValidationIssue[] {
  if (!Array.isArray(errors)) return [];
  return errors.filter(isObject).map(({ path, message, line }) => ({
    path: typeof path === 'string' ? path : '/',
    message: sentenceOf(message) ?? '?',
    ...(typeof line === 'number' && { line }),
  }));
}

/** The code that a server which names none must mean, as far as status and sentence tell. */
function codeOf(status: number, detail: string | undefined): string {
  if (status === 401) return 'unauthenticated';
  if (status === 403) return /not registered for worker/i.test(detail ?? '') ? 'not_owner' : 'missing_rights';
  // Who does not know the path says no more than that.
  if (status === 404) return /^not found\.?$/i.test(detail ?? 'not found') ? 'unknown_path' : 'unknown_id';
  return STATUS_CODES[status] ?? 'internal';
}

const STATUS_CODES: Readonly<Record<number, string>> = {
  400: 'malformed_body',
  405: 'method_not_allowed',
  409: 'illegal_transition',
  413: 'body_too_large',
  422: 'invalid_body',
  426: 'incompatible_api',
  503: 'store_unavailable',
};

/** No answer came: the server is away, or the connection broke. */
export class UnreachableError extends AppError {
  readonly code = 'unreachable';
}

/** A download ended before its last byte, and could not be taken up again. */
export class BrokenOffError extends UnreachableError {
  constructor(id: string, bytes: number, cause: unknown) {
    super(
      `the download of ${id} broke off after ${bytes} bytes, and could not be taken up (${wordsOf(cause)})`,
      {
        cause,
      },
    );
  }
}

/** Something answers, but its certificate does not say that it is the server that was asked for. */
export class UntrustedError extends AppError {
  readonly code = 'untrusted';
}

/** What is wrong with a certificate, by the codes of Node.js. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody but itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that is not trusted here',
  CERT_SIGNATURE_FAILURE: 'its certificate was not signed by the authority that it names',
  CERT_UNTRUSTED: 'its certificate is not trusted here',
  CERT_REJECTED: 'its certificate is rejected here',
  CERT_REVOKED: 'its certificate was revoked',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is wrong',
  INVALID_CA: 'its certificate comes from something that is no authority',
  INVALID_PURPOSE: 'its certificate is not for servers',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** Why a certificate does not vouch for who was asked; undefined where a fault says nothing of one. */
export function whyUntrusted(fault: unknown): string | undefined {
  const { code, cert } = (fault instanceof Error ? fault : {}) as {
    code?: string;
    cert?: { subjectaltname?: string };
  };
  const why = code === undefined ? undefined : UNTRUSTED[code];
  const names = code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? cert?.subjectaltname : undefined;
  return why !== undefined && names ? `${why} (it names ${names})` : why;
}

/** @param cause what the system or the transport says of it */
export function unreachable(server: string, cause: unknown): UnreachableError | UntrustedError {
  const { code } = (cause instanceof Error ? cause : {}) as { code?: string };
  const untrusted = whyUntrusted(cause);
  if (untrusted !== undefined) return new UntrustedError(`${server} is not trusted: ${untrusted}`, { cause });
  const isPlain = code === 'EPROTO' || code?.startsWith('ERR_SSL_');
  const why = isPlain ? 'it speaks no TLS there; did you mean http://?' : wordsOf(cause);
  return new UnreachableError(`cannot reach ${server} (${why})`, { cause });
}

/** What a server says that does not lead, is about to end, or is cut off from a store that others may reach. */
const ELSEWHERE = new Set(['standing_by', 'draining', 'store_unavailable']);

/** Whether another server of the same cluster may do better. */
export const isElsewhere = (fault: unknown): boolean =>
  fault instanceof UnreachableError || (fault instanceof ResponseError && ELSEWHERE.has(fault.code));

/** Faults of a connection that never stood. */
const NEVER_STOOD = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether a request that failed has surely done nothing, so that it may be sent to another server. */
export function wasNotAccepted(fault: unknown): boolean {
  if (fault instanceof ResponseError) return fault.isNamed && ELSEWHERE.has(fault.code);
  const { cause } = fault as { cause?: { code?: string } };
  return cause?.code !== undefined && NEVER_STOOD.has(cause.code);
}

/** What went wrong with a connection, as the system or the transport says it. */
function wordsOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as { code?: string };
  return cause instanceof AppError ? cause.message : (code ?? cause.message);
}
