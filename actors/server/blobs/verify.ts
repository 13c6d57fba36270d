import { createHash } from 'node:crypto';
import { constants, createReadStream, type ReadStream } from 'node:fs';
import { AppError } from '../../../machines/protocol/app-error.ts';

/** Bytes that are read at a time. */
export const CHUNK = 256 * 1024;
/** What lies in the place of an object may be a pipe: nobody waits for its other end. Windows has none there. */
const AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The bytes of a file, or of a part of it, in pieces. */
export const piecesOf = (path: string, part: { start?: number; end?: number } = {}): ReadStream =>
  // The type of `flags` knows words alone; Node.js takes numbers, too.
  createReadStream(path, { ...part, flags: AT_ONCE as unknown as string, highWaterMark: CHUNK });

/**
 * The SHA-256 of a file, as hex.
 * @param onBytes told of each piece that was read
 */
export async function hashOf(path: string, onBytes: (bytes: number) => void = () => {}): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of piecesOf(path)) {
    hash.update(chunk as Buffer);
    onBytes((chunk as Buffer).length);
  }
  return hash.digest('hex');
}

/** The bytes are not those that were stored. */
export class DamagedBytesError extends AppError {
  readonly code = 'damaged_bytes';
}

/**
 * Passes bytes on, the last of them only when all together have the hash.
 * @throws DamagedBytesError
 */
export async function* verified(
  source: AsyncIterable<Buffer>,
  { sha256, size_bytes }: { sha256: string; size_bytes: number },
): AsyncGenerator<Buffer, void, void> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of source) {
    hash.update(chunk);
    size += chunk.length;
    if (size >= size_bytes && hash.copy().digest('hex') !== sha256)
      throw new DamagedBytesError('another hash');
    yield chunk;
  }
  if (size < size_bytes) throw new DamagedBytesError('bytes are missing');
}
