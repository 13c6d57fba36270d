import type { FileRoute } from '../../contract/route.ts';
import type { Admitted } from '../admission/admission.ts';
import type { Exchange } from '../request/exchange.ts';
import { attachment } from './filename.ts';
import { matchesAny } from './range.ts';
import type { Header } from './refusal.ts';

/** Sends a file that is made of the code; not its bytes when the client has them. */
export async function answerFile(exchange: Exchange, { endpoint, params }: Admitted): Promise<void> {
  const route = endpoint.route as FileRoute;
  const { name, bytes, sha256 } = await route.find(params);
  const etag = `"${sha256}"`;
  const headers: Header[] = [
    ['Content-Type', route.type],
    ['Content-Disposition', attachment(name)],
    ['ETag', etag],
    ['Cache-Control', 'no-cache'],
    ['X-Content-Type-Options', 'nosniff'],
  ];
  if (matchesAny(exchange.head.headers['if-none-match'], etag)) exchange.answer(304, headers);
  else exchange.answer(200, headers, bytes);
}
