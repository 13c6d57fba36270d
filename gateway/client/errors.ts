import type { Fault } from '../../machines/schema/validate.ts';
import type { ErrorBody } from '../contract/errors.ts';

/** The server answered with an error (contract, "Errors"). */
export class AnsweredError extends Error {
  readonly status: number;
  readonly code: string;
  readonly faults: Fault[];
  /** Seconds after which the server asks to try again, if it says so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, body: Partial<ErrorBody>, retryAfter?: number) {
    super(body.detail ?? `the server answered ${status}`);
    this.name = 'AnsweredError';
    this.status = status;
    this.code = body.code ?? 'internal';
    this.faults = body.errors ?? [];
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later without anybody changing it. */
  get transient(): boolean {
    return this.status === 503 || this.status === 502 || this.status === 504 || this.status === 507;
  }
}

/** No answer came: the server is away, or the connection broke. */
export class UnreachableError extends Error {
  constructor(server: string, cause: unknown) {
    const why =
      cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
    super(`cannot reach ${server} (${why})`, { cause });
    this.name = 'UnreachableError';
  }
}
