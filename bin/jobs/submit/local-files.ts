import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { hashOf } from '../../../actors/shared/file-bytes.ts';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { CliError, usageError } from '../../cli/exit.ts';
import { localError } from '../../cli/local-error.ts';
import type { Output } from '../../terminal/output.ts';
import { plain } from '../../terminal/plain.ts';
import { Progress } from '../../terminal/progress.ts';
import {
  artifactRef,
  isFile,
  isTable,
  type LocalRef,
  labelOf,
  localRef,
  locate,
  type Role,
  references,
  rewrite,
} from './local-refs.ts';
import { zipFile, zipFolder } from './zip-folder.ts';

interface Upload {
  client: ClusterClient;
  output: Output;
  signal: AbortSignal;
  /** Upload every path that exists here, not only the marked ones. */
  all: boolean;
  /** Folders from which relative paths count, the first in which there is such a thing. */
  folders: readonly string[];
}

/** Something on this machine that a specification names. */
interface LocalFile {
  role: Role;
  path: string;
}

/**
 * Uploads what a specification names on this machine, and names the artifacts in its place. Everything else of
 * the text stays as it is written. Equal content is sent once. Says which paths are left to the workers.
 * @throws CliError for a marked path that does not exist or cannot be read
 */
export async function uploadLocalFiles(text: string, upload: Upload): Promise<string> {
  if (!text.trimStart().startsWith('{')) return text;
  const found = new Map<string, LocalFile>();
  const left = new Set<string>();
  for (const piece of references(text)) {
    const ref = localRef(piece);
    if (!ref || !(ref.marked || upload.all)) continue;
    const path = await locate(ref, upload.folders);
    if (path === null) left.add(ref.text);
    else found.set(keyOf(ref), { role: ref.role, path });
  }
  for (const path of left)
    upload.output.note(`not on this machine, left as the workers' path: ${plain(path)}`);
  if (found.size === 0) return text;
  const ids = await sendAll(found, upload);
  return rewrite(text, (piece) => {
    const ref = localRef(piece);
    const [file, id] = ref ? [found.get(keyOf(ref)), ids.get(keyOf(ref))] : [];
    return ref && file && id ? artifactRef(piece, ref, file.path, id) : piece.text;
  });
}

/** A path that is marked in one place only is uploaded there only. */
const keyOf = (ref: LocalRef): string => `${ref.role} ${ref.marked} ${ref.text}`;

/** Artifact ids by the keys of the files. */
async function sendAll(files: ReadonlyMap<string, LocalFile>, upload: Upload): Promise<Map<string, string>> {
  const { client, output, signal } = upload;
  const scratch = await mkdtemp(join(tmpdir(), 'jqctl-'));
  const progress = new Progress(output, 1, 'uploading');
  const sent = new Map<string, string>();
  const ids = new Map<string, string>();
  try {
    for (const [key, { role, path }] of files) {
      const share = (part: number) => (ids.size + part) / files.size;
      const zipping = () => progress.update(share(0), `zipping ${plain(basename(path))}`);
      const packed = await pack({ role, path }, join(scratch, `${ids.size}.zip`), { zipping, output });
      // Runners tell the kind of a file by its ending, so equal bytes under another one are something else.
      const content = `${role} ${extname(packed)} ${await hashOf(packed)}`;
      const id =
        sent.get(content) ??
        (
          await client.upload('uploadArtifact', {
            file: packed,
            filename: isFile(role) ? basename(path) : `${labelOf(role, path)}.zip`,
            query: { kind: 'input' },
            onProgress: (done, total) =>
              progress.update(share(done / Math.max(total, 1)), `uploading ${plain(basename(path))}`),
            signal,
          })
        ).artifact_id;
      if (!sent.has(content)) progress.line(`uploaded ${plain(path)}`);
      sent.set(content, id);
      ids.set(key, id);
    }
    return ids;
  } finally {
    progress.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The file to send: the one that is named, or the folder as a zip. Tells what of it is left out. */
async function pack(
  { role, path }: LocalFile,
  target: string,
  { zipping, output }: { zipping: () => void; output: Output },
): Promise<string> {
  try {
    const isFolder = (await stat(path)).isDirectory();
    if (!isFolder && (role !== 'dataset' || !isTable(path))) return path;
    zipping();
    if (isFolder) await packFolder(role, path, target, output);
    else await zipFile(path, target);
    return target;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usageError(`cannot read ${localError(error) ?? path}`);
  }
}

async function packFolder(role: Role, path: string, target: string, output: Output): Promise<void> {
  const { files, leftOut } = await zipFolder(path, target);
  for (const what of leftOut) output.warn(plain(`${path}: left out: ${what}`));
  if (files === 0) throw usageError(`the ${role} ${path} holds no files`, 'hidden ones are not uploaded');
}
