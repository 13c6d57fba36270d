import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/**
 * Writes a stream to a file, at constant memory. Faults of the disk are thrown as they are.
 * @param broken makes the error of a stream that broke off, after so many bytes
 * @returns the SHA-256 of the bytes, in hex digits
 */
export async function writeHashed(
  body: Readable,
  path: string,
  signal: AbortSignal,
  broken: (error: unknown, bytes: number) => unknown,
): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'w');
  let bytes = 0;
  try {
    const chunks = body[Symbol.asyncIterator]();
    for (;;) {
      signal.throwIfAborted();
      const next = await chunks.next().catch((error: unknown) => {
        signal.throwIfAborted();
        throw broken(error, bytes);
      });
      if (next.done) return hash.digest('hex');
      bytes += (next.value as Buffer).length;
      hash.update(next.value as Buffer);
      // Not `write`, which may write less on a disk that becomes full, and says so alone.
      await file.writeFile(next.value as Buffer);
    }
  } finally {
    body.destroy();
    await file.close();
  }
}
