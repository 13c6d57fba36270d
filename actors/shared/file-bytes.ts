import { createHash } from 'node:crypto';
import { constants, createReadStream, type ReadStream } from 'node:fs';

/** Bytes that are read at a time. */
export const CHUNK = 256 * 1024;
/** What lies in the place of a file may be a pipe: nobody waits for its other end. Windows has none there. */
const AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The bytes of a file, or of a part of it, in pieces. */
export const piecesOf = (path: string, part: { start?: number; end?: number } = {}): ReadStream =>
  // The type of `flags` knows words alone; Node.js takes numbers, too.
  createReadStream(path, { ...part, flags: AT_ONCE as unknown as string, highWaterMark: CHUNK });

/**
 * The SHA-256 of a file, in hex digits.
 * @param onBytes told of each piece that was read
 * @throws the system's error
 */
export async function hashOf(path: string, onBytes: (bytes: number) => void = () => {}): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of piecesOf(path)) {
    hash.update(chunk as Buffer);
    onBytes((chunk as Buffer).length);
  }
  return hash.digest('hex');
}
