import type { Output } from '../terminal/output.ts';
import { EXIT } from './exit.ts';
import { tellServiceManager } from './service-manager.ts';

const ABORT_MS = 200;

/** A program that has started. */
export interface Running {
  /** Ends in an orderly way; resolves when all is done. */
  stop(): Promise<void>;
  /** At the second signal; afterwards `stop` still has to resolve. Absent: the process ends at once. */
  cancelRunning?(): void;
  /** Milliseconds for that; then something of it hangs, and the process ends at once. */
  cancelMs?: number;
  /** At SIGHUP; where it is absent, and on Windows, that signal is like SIGTERM. */
  reload?(): Promise<void>;
  /** At SIGQUIT: it finishes what it runs, however long that takes. Absent: that signal is like SIGTERM. */
  retire?(): void;
  /** At SIGUSR2: who rotates logs has moved the file away. */
  reopenLog?(): void;
  /** Resolves or rejects should the program end by itself. */
  ended?: Promise<void>;
}

/**
 * Runs until SIGTERM or SIGINT, which end it in an orderly way with exit code 0. A second one cancels what
 * runs; where that is not possible, and at a third one, the process ends at once by that signal.
 * @param ready announces the program; a signal that answers the announcement is heard already
 */
export async function serveUntilSignal(
  running: Running,
  output: Output,
  ready: () => void,
  platform: NodeJS.Platform = process.platform,
): Promise<number> {
  let signals = 0;
  let stopping: (ended: Promise<void>) => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    stopping = resolve;
  });
  const tellManager = (state: 'READY=1' | 'STOPPING=1') =>
    tellServiceManager(state, (why) => output.warn(`systemd cannot be told ${state}: ${why}`));
  const onSignal = (signal: NodeJS.Signals) => {
    signals++;
    if (signals === 1) {
      tellManager('STOPPING=1');
      const more = running.cancelRunning ? 'once more to cancel what runs' : 'once more to end at once';
      announce(output, { event: 'stopping' }, `${signal}: stopping; ${more}`);
      stopping(running.stop());
    } else if (signals === 2 && running.cancelRunning) {
      announce(output, { event: 'cancelling' }, `${signal}: cancelling what runs; once more to end at once`);
      running.cancelRunning();
      if (running.cancelMs === undefined) return;
      setTimeout(() => {
        announce(
          output,
          { event: 'stuck' },
          'something of it hangs, as on a share that is gone; ends at once',
        );
        endAtOnce(signal);
      }, running.cancelMs).unref();
    } else endAtOnce(signal);
  };
  const onHangup = (signal: NodeJS.Signals) => {
    // On Windows this is how the closing of its window is told, and soon after it the end.
    if (running.reload === undefined || platform === 'win32') onSignal(signal);
    else running.reload().catch((error: Error) => output.warn(`SIGHUP: ${error.message}`));
  };
  const onQuit = (signal: NodeJS.Signals) => {
    if (running.retire === undefined || running.ended === undefined) return onSignal(signal);
    announce(output, { event: 'retiring' }, `${signal}: ends when it has finished what it runs`);
    running.retire();
  };
  const onRotated = () => running.reopenLog?.();
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('SIGQUIT', onQuit);
  process.on('SIGHUP', onHangup);
  // Without a listener it would end the process.
  if (platform !== 'win32') process.on('SIGUSR2', onRotated);
  try {
    ready();
    tellManager('READY=1');
    await Promise.race([stopped, running.ended ?? stopped]);
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.off('SIGQUIT', onQuit);
    process.off('SIGHUP', onHangup);
    process.off('SIGUSR2', onRotated);
  }
  announce(output, { event: 'stopped' }, 'stopped');
  return EXIT.done;
}

/**
 * Ends the process by the signal itself. `process.exit` would wait for its threads, of which one may hang in the kernel
 * for ever; so would a thread that waits for the other end of a pipe.
 */
function endAtOnce(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  try {
    process.kill(process.pid, signal);
  } catch {
    // Windows sends few signals.
    process.abort();
  }
  // The first process of a container cannot be ended by a signal of its own.
  setTimeout(() => process.abort(), ABORT_MS);
}

/** Tells people on stderr, or programs by a line of JSON on stdout. */
export function announce(output: Output, event: Record<string, unknown>, sentence: string): void {
  // The reader may be gone; the program stays.
  if (output.json) output.print(JSON.stringify(event)).catch(() => {});
  else output.note(sentence);
}
