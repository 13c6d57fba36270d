import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { copyFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import PQueue from 'p-queue';
import { makeDirectory } from '../../actors/shared/make-directory.ts';
import { artifactBytes } from '../../gateway/client/artifact-bytes.ts';
import type { ClusterClient } from '../../gateway/client/client.ts';
import type { ArtifactView } from '../../machines/schema/views.ts';
import { CliError, EXIT, usageError } from '../cli/exit.ts';
import { explain } from '../cli/explain.ts';
import { localError } from '../cli/local-error.ts';
import { DistinctNames, safeFileName } from './filenames.ts';

const PARALLEL = 4;

/** One artifact and where it goes. */
export interface Download {
  artifact: ArtifactView;
  /** Relative to the directory, made only of safe names. */
  path: string;
  /** Set when it failed. */
  fault?: CliError;
}

/**
 * Gives every artifact its own path: those of a task in a folder of the task.
 * @param folders names of folders by task; a task that has none there is called by its id
 * @param taken names that stand for something else beside those folders
 */
export function planDownloads(
  artifacts: readonly ArtifactView[],
  folders: ReadonlyMap<string, string> = new Map(),
  taken: readonly string[] = [],
): Download[] {
  const folderOf = ({ task_id }: ArtifactView) =>
    task_id === null ? '' : (folders.get(task_id) ?? safeFileName(task_id, 'task'));
  const names = new Map<string, DistinctNames>([['', new DistinctNames()]]);
  for (const name of taken) names.get('')?.take(name);
  // Folders stand beside the files of the job itself, which must not take their names.
  for (const folder of new Set(artifacts.map(folderOf))) {
    if (folder !== '') names.get('')?.take(folder);
    if (!names.has(folder)) names.set(folder, new DistinctNames());
  }
  return artifacts.map((artifact) => {
    const folder = folderOf(artifact);
    const name = safeFileName(artifact.filename, artifact.role);
    return { artifact, path: join(folder, names.get(folder)?.take(name) ?? name) };
  });
}

interface Order {
  client: ClusterClient;
  directory: string;
  downloads: Download[];
  signal: AbortSignal;
  /** Told how many more bytes are there. */
  onBytes: (count: number) => void;
}

/**
 * Downloads in parallel. A file appears under its name only once its SHA-256 is verified; equal content is
 * fetched once. A fault is noted on its download and the others go on.
 * @throws CliError when the directory cannot be used
 */
export async function downloadAll(order: Order): Promise<void> {
  const root = await openDirectory(order.directory);
  const byContent = new Map<string, Download[]>();
  for (const download of order.downloads) {
    const { sha256, id } = download.artifact;
    const content = sha256 || id;
    byContent.set(content, [...(byContent.get(content) ?? []), download]);
  }
  const queue = new PQueue({ concurrency: PARALLEL });
  await Promise.all([...byContent.values()].map((same) => queue.add(() => fetchOnce(order, root, same))));
}

/** Brings one content to all of its places. */
async function fetchOnce(order: Order, root: string, same: Download[]): Promise<void> {
  let source: string | undefined;
  for (const download of same) {
    try {
      if (order.signal.aborted) throw interrupted();
      const target = await place(root, download.path);
      const from = source;
      await appear(target, (temporary) =>
        from === undefined
          ? fetchVerified(order, download.artifact, temporary)
          : copyFile(from, temporary).then(() => order.onBytes(download.artifact.size_bytes)),
      );
      source ??= target;
    } catch (thrown) {
      download.fault = explain(order.signal.aborted ? interrupted() : thrown);
    }
  }
}

const interrupted = () => new CliError(EXIT.interrupted, 'interrupted');

async function openDirectory(directory: string): Promise<string> {
  try {
    await makeDirectory(resolve(directory));
    const root = await realpath(directory);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    throw usageError(`cannot use the directory ${localError(error) ?? directory}`, 'choose another --out');
  }
  throw usageError(`cannot use the directory ${directory}: it is a file`, 'choose another --out');
}

/** The full path of a file below `root`, whose folder exists and is no link to somewhere else. */
async function place(root: string, path: string): Promise<string> {
  const folder = join(root, dirname(path));
  await makeDirectory(folder);
  const real = await realpath(folder);
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw usageError(`${dirname(path)} leads out of ${root}`, 'remove that link, or choose another --out');
  }
  return join(real, basename(path));
}

/** Fills a temporary file and renames it; whatever goes wrong, nothing partial is left behind. */
async function appear(target: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(dirname(target), `.jqctl-${randomBytes(6).toString('hex')}.part`);
  try {
    await fill(temporary);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function fetchVerified(order: Order, artifact: ArtifactView, temporary: string): Promise<void> {
  const { client, signal, onBytes } = order;
  const hash = createHash('sha256');
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
  const bytes = artifactBytes(client, artifact.id, { signal });
  await pipeline(bytes, meter, createWriteStream(temporary, { flags: 'wx' }));
  // A server that tells no hash leaves nothing to compare with.
  if (artifact.sha256 !== '' && hash.digest('hex') !== artifact.sha256.toLowerCase()) {
    throw new CliError(EXIT.unreachable, 'the content does not match its SHA-256; it was thrown away', {
      hint: 'try again; should it happen again, the stored artifact is damaged',
    });
  }
}
