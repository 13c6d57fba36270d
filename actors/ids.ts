import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Gives random bytes; a seeded one stands in for it in simulations. */
export type Random = (bytes: number) => Uint8Array;
export type IdKind = 'job' | 'task' | 'worker' | 'art';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Makes ids such as `job_01k9…`: 48 bits of milliseconds, so that they sort by time and index well, then 80
 * random bits, so that none can be guessed by counting (contract, "Names").
 */
export function idMaker(clock: Clock, random: Random = randomBytes): (kind: IdKind) => string {
  return (kind) => {
    let out = '';
    let time = Math.floor(clock.now() * 1000);
    for (let i = 0; i < 10; i++) {
      out = ALPHABET[time % 32] + out;
      time = Math.floor(time / 32);
    }
    for (const byte of random(16)) out += ALPHABET[byte & 31];
    return `${kind}_${out}`;
  };
}
