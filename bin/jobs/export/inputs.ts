import type { ClusterClient } from '../../../gateway/client/client.ts';
import { filenameOf } from '../../../gateway/client/filename.ts';
import { compose, members, RawJson } from '../../../machines/json/raw.ts';
import type { ArtifactView } from '../../../machines/schema/views.ts';
import { withoutKey } from '../../../machines/submission/resubmitted.ts';
import { explain } from '../../cli/explain.ts';
import type { Download } from '../download.ts';
import { DistinctNames, safeFileName } from '../filenames.ts';
import { type Piece, references, rewrite } from '../submit/local-refs.ts';

/** The folder of what was uploaded for a job. */
export const INPUTS = 'inputs';
const MEMBERS = ['artifact_id', 'bundle_artifact_id'] as const;

/** What was uploaded for a job and what it names besides, which only its workers have. */
export interface Inputs {
  downloads: Download[];
  /** Paths, catalog entries and the like, in words. */
  elsewhere: string[];
}

/** @param request the specification as it was submitted */
export async function inputsOf(client: ClusterClient, request: string): Promise<Inputs> {
  const ids = new Set<string>();
  const elsewhere = new Set<string>();
  for (const piece of references(request)) {
    const found = namedIn(piece).map(([, id]) => id);
    for (const id of found) ids.add(id);
    const { kind, path, catalog_id, name, entrypoint } = JSON.parse(piece.text) as Record<string, unknown>;
    if (found.length > 0 || kind === 'inline_json') continue;
    elsewhere.add(`${piece.role} ${path ?? catalog_id ?? entrypoint ?? name} (${kind})`);
  }
  const names = new DistinctNames();
  const downloads = await Promise.all(
    [...ids].map(async (id, i): Promise<Download> => {
      const number = String(i + 1).padStart(2, '0');
      try {
        const headers = await client.artifactHeaders(id);
        const filename = filenameOf(headers['content-disposition'] ?? null);
        const artifact = artifactOf(id, filename, {
          sha256: (headers.etag ?? '').replaceAll('"', ''),
          size_bytes: Number(headers['content-length'] ?? 0),
        });
        return { artifact, path: `${INPUTS}/${names.take(safeFileName(`${number}-${filename ?? id}`, id))}` };
      } catch (error) {
        const artifact = artifactOf(id, null, { sha256: '', size_bytes: 0 });
        return { artifact, path: `${INPUTS}/${number}-${id}`, fault: explain(error) };
      }
    }),
  );
  return { downloads, elsewhere: [...elsewhere] };
}

const artifactOf = (
  id: string,
  filename: string | null,
  of: Pick<ArtifactView, 'sha256' | 'size_bytes'>,
): ArtifactView => ({
  ...{ role: 'input', task_id: null, id, kind: 'input', created_at: 0, filename, metadata: {} },
  ...of,
});

/** The artifacts that a pipeline or dataset names, each with the member that does. */
function namedIn({ text }: Piece): [member: string, id: string][] {
  const piece = JSON.parse(text) as Record<string, unknown>;
  return MEMBERS.flatMap((member) => {
    const id = piece[member];
    return typeof id === 'string' ? [[member, id] as [string, string]] : [];
  });
}

/**
 * The specification as a job file of the folder: what was uploaded is named as a file of it, which `jqctl` uploads again.
 * Numbers stay as they were written.
 * @param paths of the files that are there, by artifact
 */
export function jobFileOf(request: string, paths: ReadonlyMap<string, string>): string {
  return rewrite(withoutKey(request), (piece) => {
    const named = namedIn(piece).filter(([, id]) => paths.has(id));
    if (named.length === 0) return piece.text;
    const changed = new Map<string, unknown>(
      [...members(piece.text)].map(([key, text]) => [key, new RawJson(text)]),
    );
    for (const [member, id] of named) changed.set(member, `file:${paths.get(id)}`);
    // The job that made a model is not known elsewhere; the model itself is in the folder.
    if (changed.delete('job_id')) changed.set('kind', 'artifact');
    return compose(Object.fromEntries(changed));
  });
}
