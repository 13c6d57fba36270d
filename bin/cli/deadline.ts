import { EXIT } from './exit.ts';

/** The time limit of some work, and why the work was stopped. */
export interface Deadline {
  /** Aborted by Ctrl-C, SIGTERM or the end of the time. */
  signal: AbortSignal;
  /** Why it was aborted: the exit code; undefined as long as it was not. */
  readonly exit: number | undefined;
}

/**
 * Runs something that Ctrl-C, SIGTERM and a time limit may end. A second Ctrl-C ends the process as usual.
 * @param seconds time limit, or undefined for none
 */
export async function withDeadline<T>(
  seconds: number | undefined,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let exit: number | undefined;
  const end = (code: number) => {
    exit ??= code;
    controller.abort();
  };
  const onInt = () => end(EXIT.interrupted);
  const onTerm = () => end(143);
  const timer = seconds === undefined ? undefined : setTimeout(() => end(EXIT.timeout), seconds * 1000);
  process.once('SIGINT', onInt);
  process.once('SIGTERM', onTerm);
  try {
    return await work({
      signal: controller.signal,
      get exit() {
        return exit;
      },
    });
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', onInt);
    process.off('SIGTERM', onTerm);
  }
}
