import { AppError } from '../../machines/protocol/app-error.ts';

/**
 * A fault of what the job names: a bad archive, a pipeline that makes no sense, an unknown dataset. Running the task
 * again cannot help, wherever, so it is reported as `input`, with `retriable: false` (docs/runners.md#how-it-ends).
 */
export class InputError extends AppError {
  readonly code = 'input';
}

interface WorkerErrorDetails {
  /** Whether it is this worker's own, by which it judges its health; never for what only a job asks for. */
  own?: boolean;
  /** The path that is missing here, as the job names it. */
  missingPath?: string;
  cause?: unknown;
}

/**
 * This worker cannot do it, another one may: its disk is full, its interpreter or a share is gone. Reported as
 * `worker` (docs/semantics.md#faults-and-attempts).
 */
export class WorkerError extends AppError {
  readonly code = 'worker';
  readonly own: boolean;
  readonly missingPath: string | undefined;

  constructor(message: string, { own = false, missingPath, cause }: WorkerErrorDetails = {}) {
    super(message, { cause });
    this.own = own;
    this.missingPath = missingPath;
  }
}
