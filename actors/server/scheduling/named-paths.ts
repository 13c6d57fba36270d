import { at } from '../../../machines/json/raw.ts';
import type { JobPieces } from '../jobs/job-pieces.ts';
import type { TaskRow } from '../store/rows.ts';

/** The kinds of pipelines and datasets that are a path as the worker sees it. */
const PATH_KINDS = new Set(['"path"', '"shared_path"', '"worker_local"']);

/** What was found out of a specification: by pipeline and by dataset the path that it names, or null. */
interface Known {
  pipelines: Map<number, string | null>;
  datasets: Map<number, string | null>;
}

const known = new WeakMap<JobPieces, Known>();

/** The paths that a task names, as they are written in its job. */
export function pathsOf(pieces: JobPieces, { pipeline, dataset }: TaskRow['payload']): string[] {
  const paths = [pathOf(pieces, 'pipelines', pipeline), pathOf(pieces, 'datasets', dataset)];
  return paths.filter((path) => path !== null);
}

/** Which of a job's pipelines and datasets name one of these paths, by their places. */
export function placesOf(
  pieces: JobPieces,
  isMeant: (path: string) => boolean,
): { pipelines: Map<number, string>; datasets: Map<number, string> } {
  const places = (list: keyof Known) => {
    const found = new Map<number, string>();
    for (let i = 0; i < pieces[list].length; i++) {
      const path = pathOf(pieces, list, i);
      if (path !== null && isMeant(path)) found.set(i, path);
    }
    return found;
  };
  return { pipelines: places('pipelines'), datasets: places('datasets') };
}

function pathOf(pieces: JobPieces, list: keyof Known, index: number): string | null {
  const found = known.get(pieces) ?? { pipelines: new Map(), datasets: new Map() };
  known.set(pieces, found);
  const before = found[list].get(index);
  if (before !== undefined) return before;
  const path = readPath(pieces[list][index] ?? 'null');
  found[list].set(index, path);
  return path;
}

function readPath(text: string): string | null {
  if (!PATH_KINDS.has(at(text, 'kind') ?? '')) return null;
  const path = at(text, 'path');
  return path?.startsWith('"') ? (JSON.parse(path) as string) : null;
}
