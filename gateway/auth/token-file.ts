import { readFileSync } from 'node:fs';
import { StartError } from '../../machines/protocol/start-error.ts';

/** Longer is no file of a token. */
const LONGEST = 8192;

/**
 * The token that stands alone in a file, without the line break behind it.
 * @throws StartError `bad_token_file` that names the file, never what is in it
 */
export function readTokenFile(path: string): string {
  return readWord(path, 'token');
}

/**
 * The only word of a file that holds a secret.
 * @param what it is called
 * @throws StartError `bad_token_file` that names the file, never what is in it
 */
export function readWord(path: string, what: 'token' | 'secret'): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartError('bad_token_file', `cannot read the ${what} file ${path} (${why})`);
  }
  const word = text.replace(/^\uFEFF/, '').trim();
  if (word.length <= LONGEST && /^[\x21-\x7e]+$/.test(word)) return word;
  const why = word === '' ? 'is empty' : 'holds more than one word, or what no header can carry';
  throw new StartError('bad_token_file', `the ${what} file ${path} ${why}: it must hold the ${what} alone`);
}
