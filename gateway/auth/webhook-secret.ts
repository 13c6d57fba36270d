import { StartError } from '../../machines/protocol/start-error.ts';
import { readWord } from './token-file.ts';

/** As [Standard Webhooks](https://www.standardwebhooks.com) writes it: 24 to 64 bytes in base64 behind a prefix. */
const FORM = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const BYTES = { least: 24, most: 64 };

/**
 * The key that requests are signed with, from its file.
 * @throws StartError `bad_token_file` that names the file, never what is in it
 */
export function webhookKey(path: string): Uint8Array {
  const [, text = ''] = FORM.exec(readWord(path, 'secret')) ?? [];
  const key = Buffer.from(text, 'base64');
  if (key.length >= BYTES.least && key.length <= BYTES.most) return key;
  throw new StartError(
    'bad_token_file',
    `the secret file ${path} must hold whsec_ and ${BYTES.least} to ${BYTES.most} bytes in base64; make one with: node -p '"whsec_" + crypto.randomBytes(32).toString("base64")'`,
  );
}
