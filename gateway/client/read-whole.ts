import type { Dispatcher } from 'undici';
import { InvalidResponseError } from './errors.ts';

const MIB = 1024 * 1024;
/** Bytes: V8 has no text that is much longer. */
export const LONGEST_ANSWER = 500 * MIB;

/**
 * The text of an answer. Whoever answers, as what a proxy has in the place of the server, may do so without end.
 * @throws InvalidResponseError where it has more bytes than that
 */
export async function readWhole(answer: Dispatcher.ResponseData, most: number): Promise<string> {
  const { body, headers } = answer;
  // As short ones say, and are read quicker so.
  if (Number(headers['content-length']) <= most) return body.text();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new InvalidResponseError(`the answer has more than ${most / MIB} MiB`, false);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
