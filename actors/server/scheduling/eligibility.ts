import type { Core } from '../core.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import { type Exclusion, isKeptFrom, registrationOf } from './exclusions.ts';

type Parts = Pick<Core, 'directory' | 'queue'>;
type Asked = Pick<Exclusion, 'requirement' | 'avoids' | 'paths'>;

/** The workers that live and meet the requirement, whether they are free or not. */
export function* matching(core: Parts, requirement: number): Iterable<WorkerCell> {
  for (const worker of core.directory.workers.values()) {
    if (worker.row.status === 'alive' && core.queue.profiles.isMetBy(requirement, worker)) yield worker;
  }
}

/**
 * Whether a live worker could run it: one that matches, reported no fault of its own for it, and lacks no path of it.
 */
export function canRunSomewhere(core: Parts, asked: Asked): boolean {
  for (const worker of matching(core, asked.requirement)) {
    if (!isKeptFrom(asked, worker, registrationOf(worker.row))) return true;
  }
  return false;
}

/**
 * Why a task fails although it waits: of the live workers that match, none is left for it. Undefined while it is
 * worth while to wait. A path that is missing everywhere says it in the words of a worker that lacks it; who is only
 * avoided has said it already, which is `error`.
 */
export function whyHopeless(core: Parts, asked: Asked, error: string | null): string | undefined {
  if (canRunSomewhere(core, asked)) return undefined;
  for (const worker of matching(core, asked.requirement)) {
    for (const path of asked.paths) {
      const said = worker.missingPaths.errorOf(path);
      if (said !== undefined) return said;
    }
  }
  return asked.avoids.length > 0 ? (error ?? 'no worker is left that could run it') : undefined;
}
