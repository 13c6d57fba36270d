import { execFileSync } from 'node:child_process';
import type { Processes } from './processes.ts';

/** Runs taskkill(1) with these words; throws where it ends with a fault. */
export type RunTaskkill = (words: readonly string[]) => void;

const runTaskkill: RunTaskkill = (words) => {
  execFileSync('taskkill', words, { stdio: 'ignore', windowsHide: true, timeout: 10_000 });
};

/**
 * Windows, which has neither signals nor process groups: `taskkill /T` ends a process with all that it has started
 * and that still has its parent. Without `/F` it asks, which programs without a window do not hear.
 */
export function windowsProcesses(run: RunTaskkill = runTaskkill): Processes {
  return {
    name: 'taskkill',
    table: () => [],
    rowOf: () => undefined,
    carries: () => false,
    boot: () => 'unknown',
    signal(id, signal) {
      // Nothing stands still on demand here, so that a tree can only be ended as a whole, by its root.
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') return;
      const words = ['/PID', `${Math.abs(id)}`, '/T'];
      try {
        run(signal === 'SIGKILL' ? [...words, '/F'] : words);
      } catch {
        // It has ended already, or does not listen.
      }
    },
    groups: false,
    limits: [
      'a task that is told to stop is ended at once, or after the grace period: Windows has no signal to ask for it',
      'processes of a task outlive it when the process that started them has ended before',
      'tasks outlive a worker program that is killed',
    ],
  };
}
