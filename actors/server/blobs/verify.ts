import { createHash } from 'node:crypto';
import { AppError } from '../../../machines/protocol/app-error.ts';

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
