import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** More than one block of any file system, so that what is written has to find room. */
const PROBE_BYTES = 64 * 1024;

/**
 * Writes a file, has it on the disk, reads it and removes it.
 * @throws the system's error where the folder's disk does not do that
 */
export async function probeDisk(folder: string): Promise<void> {
  const path = join(folder, `.probe-${randomBytes(6).toString('hex')}`);
  const written = randomBytes(PROBE_BYTES);
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'wx+');
    await file.writeFile(written);
    await file.sync();
    const read = Buffer.alloc(PROBE_BYTES);
    await file.read(read, 0, PROBE_BYTES, 0);
    if (!read.equals(written)) {
      throw Object.assign(new Error('EIO: it gives back other bytes'), { code: 'EIO', syscall: 'read' });
    }
  } finally {
    await file?.close();
    await rm(path, { force: true });
  }
}
