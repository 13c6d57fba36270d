import type { StoredArtifact } from '../../backend.ts';
import type { DownloadRoute } from '../../contract/route.ts';
import type { Admitted } from '../admission/admission.ts';
import { HttpCall } from '../request/call.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Service } from '../service.ts';
import { attachment } from './filename.ts';
import { matchesAny, parseRange } from './range.ts';
import { type Header, Refusal } from './refusal.ts';
import { sendStream } from './send-stream.ts';

/** Sends the bytes of an artifact: whole, one range of them, or not at all when the client has them. */
export async function answerDownload(
  exchange: Exchange,
  admitted: Admitted,
  service: Service,
): Promise<void> {
  const route = admitted.endpoint.route as DownloadRoute;
  const query = admitted.endpoint.readQuery(exchange.head.query);
  const request = { principal: admitted.principal, params: admitted.params, query, exchange };
  const artifact = await route.find(new HttpCall(request, service, undefined));
  const { headers: asked, method } = exchange.head;
  const etag = `"${artifact.sha256}"`;
  const headers = headersFor(artifact, etag);
  if (matchesAny(asked['if-none-match'], etag)) return void exchange.answer(304, headers);

  await service.backend.blobs.assertWhole(artifact);
  if (method === 'GET' && prefersRedirect(asked.prefer)) {
    const address = await service.backend.blobs.addressOf(artifact, dispositionOf(artifact));
    if (address !== null)
      return void exchange.answer(
        307,
        [...headers.filter(([name]) => name !== 'Cache-Control'), ...redirection(address)],
        '',
      );
  }
  const size = artifact.size_bytes;
  // A range is only good for the bytes that the client began with; HEAD knows no ranges.
  const ranged = method === 'GET' && (asked['if-range'] ?? etag).trim() === etag;
  const range = ranged ? parseRange(asked.range, size) : null;
  if (range === 'unsatisfiable') {
    const detail = `the range '${asked.range}' lies outside the ${size} bytes of artifact '${artifact.id}'`;
    throw new Refusal('range_not_satisfiable', detail, [['Content-Range', `bytes */${size}`]]);
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range) headers.push(['Content-Range', `bytes ${start}-${end}/${size}`]);
  if (method === 'HEAD') return void exchange.answer(200, [...headers, ['Content-Length', String(size)]]);
  if (size === 0) return void exchange.answer(200, headers, '');
  await sendStream(exchange, {
    status: range ? 206 : 200,
    headers,
    length: end - start + 1,
    stream: service.backend.blobs.read(artifact, start, end),
  });
}

/** Whether a client says that it may be sent elsewhere (RFC 7240). */
const prefersRedirect = (prefer: string | undefined): boolean =>
  prefer?.split(',').some((preference) => preference.trim().toLowerCase() === 'redirect') ?? false;

/** The address is as good as a credential. */
const redirection = (address: string): Header[] => [
  ['Location', address],
  ['Preference-Applied', 'redirect'],
  ['Cache-Control', 'no-store'],
];

const dispositionOf = ({ filename, id }: StoredArtifact): string => attachment(filename ?? id);

function headersFor(artifact: StoredArtifact, etag: string): Header[] {
  return [
    ['Content-Type', 'application/octet-stream'],
    ['Content-Disposition', dispositionOf(artifact)],
    ['ETag', etag],
    ['Accept-Ranges', 'bytes'],
    ['Cache-Control', 'private, no-cache'],
    ['X-Content-Type-Options', 'nosniff'],
  ];
}
