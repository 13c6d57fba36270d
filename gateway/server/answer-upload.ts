import type { UploadRoute } from '../contract/route.ts';
import type { Admitted } from './admission.ts';
import { BodyStream } from './body-stream.ts';
import { HttpCall } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { assertMultipart, receiveFile } from './multipart.ts';
import { replyJson } from './reply.ts';
import type { Service } from './service.ts';

/** Runs an upload: the route admits it by its id, then the bytes are taken, then the route records them. */
export async function answerUpload(exchange: Exchange, admitted: Admitted, service: Service): Promise<void> {
  const endpoint = admitted.endpoint as Endpoint<UploadRoute>;
  const { route } = endpoint;
  const contentType = exchange.head.headers['content-type'];
  assertMultipart(contentType);
  const query = endpoint.readQuery(exchange.head.query);
  const body = new BodyStream(exchange);
  const request = { principal: admitted.principal, params: admitted.params, query, exchange };
  const call = new HttpCall(request, service, { value: undefined, text: '{}' });
  try {
    await route.admit?.(call as Parameters<typeof route.run>[0]);
    const blob = await receiveFile({
      contentType,
      body,
      blobs: service.clusterPort.blobs,
      maxArtifactBytes: service.maxArtifactBytes,
      maxBodyBytes: endpoint.maxBytes,
    });
    // Also when the client has gone by now: all of its bytes came, and it may have gone without waiting.
    replyJson(exchange, await route.run(call as Parameters<typeof route.run>[0], blob));
  } catch (fault) {
    body.discard();
    throw fault;
  }
}
