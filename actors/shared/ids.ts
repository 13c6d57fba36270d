import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Gives random bytes; a seeded one stands in for it in simulations. */
export type Random = (bytes: number) => Uint8Array;
export type IdKind = 'job' | 'task' | 'worker' | 'art';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Random bytes taken from the system in larger pieces: each call to it costs more than a whole id. */
export function pooledRandom(size = 4096): Random {
  const pool = Buffer.alloc(size);
  let next = size;
  return (bytes) => {
    if (next + bytes > size) {
      randomFillSync(pool);
      next = 0;
    }
    next += bytes;
    return pool.subarray(next - bytes, next);
  };
}

/** 48 bits of milliseconds as ten characters. */
function timeText(milliseconds: number): string {
  let text = '';
  for (let time = milliseconds, i = 0; i < 10; i++) {
    text = ALPHABET[time % 32] + text;
    time = Math.floor(time / 32);
  }
  return text;
}

/**
 * Makes ids such as `job_01k9…`: 48 bits of milliseconds, so that they sort by time and index well, then 80
 * random bits, so that none can be guessed by counting (docs/protocol.md#names).
 */
export function idMaker(clock: Clock, random: Random = pooledRandom()): (kind: IdKind) => string {
  let prefix = { at: -1, text: '' };
  return (kind) => {
    const at = Math.floor(clock.now() * 1000);
    if (at !== prefix.at) prefix = { at, text: timeText(at) };
    let out = prefix.text;
    for (const byte of random(16)) out += ALPHABET[byte & 31];
    return `${kind}_${out}`;
  };
}
