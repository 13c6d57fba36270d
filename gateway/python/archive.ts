import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** The same for every entry, so that the same files make the same bytes. Archives hold times of the clock on the wall. */
const MODIFIED = { mtime: new Date(1980, 0, 2), forceDosTimestamp: true };

/**
 * A zip of files that are in memory. The bytes depend on nothing but the files, not even on a version of zlib: nothing
 * is compressed.
 * @param files contents by their names, in the order of the archive
 */
export async function archiveOf(files: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, bytes] of files) {
    zip.addBuffer(bytes, name, { ...MODIFIED, mode: 0o100644, compress: false });
  }
  zip.end();
  return buffer(zip.outputStream);
}
