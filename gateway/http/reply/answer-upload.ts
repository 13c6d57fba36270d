import type { UploadRoute } from '../../contract/route.ts';
import { declaredLength } from '../../transport/head.ts';
import type { Admitted } from '../admission/admission.ts';
import type { Endpoint } from '../admission/endpoint.ts';
import { BodyStream } from '../request/body-stream.ts';
import { HttpCall } from '../request/call.ts';
import { ClientGoneError, type Exchange } from '../request/exchange.ts';
import { assertMultipart, type ReceivedFile, receiveFile } from '../request/multipart.ts';
import type { Service } from '../service.ts';
import { replyJson } from './reply.ts';

/** Runs an upload: the route admits it by its id, then the bytes are taken, then the route records them. */
export async function answerUpload(exchange: Exchange, admitted: Admitted, service: Service): Promise<void> {
  const endpoint = admitted.endpoint as Endpoint<UploadRoute>;
  const { route } = endpoint;
  const contentType = exchange.head.headers['content-type'];
  assertMultipart(contentType);
  const query = endpoint.readQuery(exchange.head.query);
  const body = new BodyStream(exchange);
  service.uploads.began();
  const request = { principal: admitted.principal, params: admitted.params, query, exchange };
  const call = new HttpCall(request, service, undefined);
  try {
    await route.admit?.(call as Parameters<typeof route.run>[0]);
    const file = await receiveFile({
      contentType,
      body,
      expected: declaredLength(exchange.head),
      blobs: service.backend.blobs,
      maxArtifactBytes: service.maxArtifactBytes,
      maxBodyBytes: endpoint.maxBytes,
    });
    // Also when the client has gone by now: all of its bytes came, and it may have gone without waiting.
    const reply = await recorded(file, async () => {
      service.assertGranted(exchange);
      return route.run(call as Parameters<typeof route.run>[0], file.blob);
    });
    service.uploads.ended('stored', file.blob.size_bytes);
    service.requests.acted(exchange, { ...call.about, bytes: file.blob.size_bytes });
    replyJson(exchange, reply);
  } catch (error) {
    service.uploads.ended(error instanceof ClientGoneError ? 'gone' : 'refused');
    body.discard();
    throw error;
  }
}

/** Bytes that could not be recorded are let go; that this fails as well is mended at the next start. */
async function recorded<T>({ release: keep, discard }: ReceivedFile, record: () => Promise<T>): Promise<T> {
  try {
    const reply = await record();
    await keep().catch(() => {});
    return reply;
  } catch (error) {
    await discard().catch(() => {});
    throw error;
  }
}
