import { createHash, randomBytes } from 'node:crypto';
import { objectPath } from '../paths.ts';
import type { Bucket } from './bucket.ts';

/** Bytes of what is sent. */
const SIZE = 32;
/** Milliseconds for an answer. */
const PATIENCE_MS = 20_000;

/**
 * Whether the service takes what is sent with a signed checksum only where the bytes have it: tried, since services that know
 * nothing of it write whatever comes. What it leaves, should it die meanwhile, is removed as what an upload leaves.
 * @throws Error when it cannot be asked just now
 */
export async function comparesChecksums(bucket: Bucket): Promise<boolean> {
  const bytes = randomBytes(SIZE);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const key = objectPath(sha256);
  const { url, headers } = await bucket.presignedPut(key, { sha256, size_bytes: SIZE });
  const isTaken = async (body: Uint8Array) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { status, body: said } = await fetch(url, { method: 'PUT', headers, body, signal });
    await said?.cancel();
    if (status >= 500 && status !== 501) throw new Error(`status ${status}`);
    return status < 300;
  };
  try {
    return !(await isTaken(randomBytes(SIZE))) && (await isTaken(bytes));
  } finally {
    await bucket.remove(key);
  }
}
