import { createHash } from 'node:crypto';
import { StartError } from '../../machines/protocol/start-error.ts';

/** What an Authorization header can carry without being changed on its way. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** The digest of a token. Only digests are kept and compared; the token itself is forgotten. */
export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

/**
 * The digest of a configured token.
 * @throws StartError `bad_token` for an empty token, or one that no client could send
 */
export function checkedDigest(token: string, whose: string): Buffer {
  if (token === '') throw new StartError('bad_token', `${whose} has an empty token`);
  if (!SENDABLE.test(token)) {
    throw new StartError(
      'bad_token',
      `the token of ${whose} holds white space, control or non-ASCII characters, which a header cannot carry`,
    );
  }
  return digestOf(token);
}
