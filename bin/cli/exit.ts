import { AppError } from '../../machines/protocol/app-error.ts';

/** The exit codes of every program; the help text of every command lists them. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unauthorised: 3,
  unreachable: 4,
  timeout: 5,
  /** The job succeeded, but not all of its tasks. */
  partial: 6,
  /** A fault of the program itself (EX_SOFTWARE). */
  internal: 70,
  /** The output cannot be written (EX_IOERR). */
  output: 74,
  /** Started again, it goes on (EX_TEMPFAIL): another server has taken the store over, or the database does not answer yet. */
  later: 75,
  /** Ended by Ctrl-C: 128 + SIGINT. */
  interrupted: 130,
} as const;

/** A reason to end, with the exit code, a sentence, and what to do next. */
export class CliError extends AppError {
  readonly exit: number;
  readonly hint: string | undefined;
  /** One line each, below the sentence. */
  readonly details: string[];

  constructor(exit: number, message: string, more: { hint?: string; details?: string[] } = {}) {
    super(message);
    this.exit = exit;
    this.hint = more.hint;
    this.details = more.details ?? [];
  }

  /** What `EXIT` calls its exit code. */
  get code(): string {
    return Object.entries(EXIT).find(([, exit]) => exit === this.exit)?.[0] ?? 'failed';
  }
}

/** Something on the command line, or a file that it names, is not usable. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(EXIT.usage, message, hint === undefined ? {} : { hint });
}
