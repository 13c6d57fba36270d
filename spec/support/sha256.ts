import { createHash } from 'node:crypto';

/** As artifacts are known by: in hexadecimal. */
export const sha256 = (content: Uint8Array | string): string =>
  createHash('sha256').update(content).digest('hex');
