import { readFileSync } from 'node:fs';
import { StartError } from '../../machines/protocol/start-error.ts';

/** Longer is no file of a token. */
const LONGEST = 8192;

/**
 * The token that stands alone in a file, without the line break behind it.
 * @throws StartError `bad_token_file` that names the file, never what is in it
 */
export function readTokenFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartError('bad_token_file', `cannot read the token file ${path} (${why})`);
  }
  const token = text.replace(/^\uFEFF/, '').trim();
  if (token.length <= LONGEST && /^[\x21-\x7e]+$/.test(token)) return token;
  const what = token === '' ? 'is empty' : 'holds more than one word, or what no header can carry';
  throw new StartError('bad_token_file', `the token file ${path} ${what}: it must hold the token alone`);
}
