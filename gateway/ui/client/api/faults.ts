/** The server answered with an error (docs/protocol.md#errors). */
export class RefusedError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.name = 'RefusedError';
    this.status = status;
    this.code = code;
  }

  /** Whether the credential is to blame. */
  get denied(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** No answer came. */
export class UnreachableError extends Error {
  constructor(cause?: unknown) {
    super('the server cannot be reached', { cause });
    this.name = 'UnreachableError';
  }
}

export const wordsOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));
