import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Header, Unpack } from 'tar';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { CHUNK } from '../../shared/file-bytes.ts';
import { isHash, objectPath } from '../blobs/paths.ts';
import { ABOUT } from './folder.ts';
import { STORE } from './save.ts';

/** Of a tar archive everything comes in blocks. */
const BLOCK = 512;
const END = Buffer.alloc(2 * BLOCK);

/** A file of an archive: its name there, and where it lies or what is in it. */
export type Entry = { name: string; path: string } | { name: string; text: string };

/** A tar archive of files that do not change, piece by piece as somebody takes it. */
export async function* archiveOf(entries: AsyncIterable<Entry>): AsyncGenerator<Buffer> {
  for await (const entry of entries) {
    if ('text' in entry) {
      const bytes = Buffer.from(entry.text);
      yield headOf(entry.name, bytes.length);
      yield bytes;
      yield paddingOf(bytes.length);
      continue;
    }
    const { size } = await stat(entry.path);
    yield headOf(entry.name, size);
    if (size > 0) yield* createReadStream(entry.path, { end: size - 1, highWaterMark: CHUNK });
    yield paddingOf(size);
  }
  yield END;
}

function headOf(path: string, size: number): Buffer {
  const head = new Header({ path, size, type: 'File', mode: 0o600, mtime: new Date(0) });
  head.encode();
  return head.block as Buffer;
}

const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** What a backup consists of; nothing else of an archive is unpacked. */
function belongs(name: string): boolean {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return name === STORE || name === ABOUT || (isHash(last) && name === objectPath(last));
}

/**
 * Unpacks an archive into a directory.
 * @throws StartError where it is no archive, or breaks off
 */
export async function unpack(archive: Readable, directory: string): Promise<void> {
  const unpacking = new Unpack({
    cwd: directory,
    strict: true,
    noMtime: true,
    preserveOwner: false,
    filter: (path, entry) => belongs(path) && 'type' in entry && entry.type === 'File',
  });
  try {
    await new Promise<void>((resolve, reject) => {
      archive.once('error', reject);
      unpacking.once('error', reject);
      unpacking.once('close', resolve);
      archive.pipe(unpacking as unknown as NodeJS.WritableStream);
    });
  } catch (error) {
    archive.unpipe();
    // Files that are being written fail when their folder goes; what happened is known.
    unpacking.on('error', () => {});
    if (!(error as { tarCode?: string }).tarCode?.startsWith('TAR_')) throw error;
    throw new StartError(
      'restore_refused',
      `the archive is damaged or breaks off: ${(error as Error).message}`,
    );
  }
}
