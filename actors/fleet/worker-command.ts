import { join } from 'node:path';
import type { Fleet, Template } from '../../machines/fleet/file.ts';

/** What all workers of a fleet are started with. */
export interface WorkerStart {
  fleet: Fleet;
  /** Program and arguments of `jq-worker`. */
  command: readonly string[];
  /** Of the server, as it stands in front of the template's own. */
  flags: readonly string[];
}

/** What a worker is called, by which its allocation is found. */
export const workerName = (fleet: string, template: string, place: number | string): string =>
  `${fleet}.${template}.${place}`;

/** The place of a worker of a template, by its name; null for one of another. */
export function placeIn(fleet: string, template: string, name: string | null): number | null {
  const begin = workerName(fleet, template, '');
  const place = name?.startsWith(begin) ? name.slice(begin.length) : '';
  return /^[1-9]\d{0,8}$/.test(place) ? Number(place) : null;
}

/** Where the workers of a template have their directories and logs. */
export const folderOf = ({ state }: Fleet, { name }: Template): string => join(state, name);

/** What a worker of a place is started with. @param isPermanent whether it stays without work */
export function workerArguments({ flags }: WorkerStart, template: Template, isPermanent: boolean): string[] {
  const { slots, memory_gb, gpus, labels, idle, walltime, ending, worker } = template;
  return [
    ...flags,
    ...['--slots', String(slots), '--gpus', String(gpus)],
    ...(memory_gb === null ? [] : ['--memory-gb', String(memory_gb)]),
    ...Object.entries(labels).flatMap(([key, value]) => ['--labels', `${key}=${value}`]),
    ...(walltime === null ? [] : ['--drain-seconds', String(ending)]),
    ...(isPermanent ? [] : ['--idle-exit', String(idle)]),
    ...worker,
  ];
}
