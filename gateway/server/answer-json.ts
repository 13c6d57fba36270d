import { ClusterError } from '../../machines/errors.ts';
import type { JsonRoute } from '../contract/route.ts';
import type { Admitted } from './admission.ts';
import { readBody } from './body.ts';
import type { BodyShare } from './body-budget.ts';
import { HttpCall } from './call.ts';
import { type Document, readDocument } from './document.ts';
import type { Endpoint } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { replyJson } from './reply.ts';
import type { Service } from './service.ts';

const NO_DOCUMENT: Document = { value: {}, text: '{}' };

/** Runs a JSON endpoint: body, checks, the route, the answer. */
export async function answerJson(exchange: Exchange, admitted: Admitted, service: Service): Promise<void> {
  const share = service.bodies.share();
  try {
    await answer(exchange, admitted, service, share);
  } finally {
    share.release();
  }
}

async function answer(exchange: Exchange, admitted: Admitted, service: Service, share: BodyShare) {
  const endpoint = admitted.endpoint as Endpoint<JsonRoute>;
  const { route } = endpoint;
  const bytes = route.verb === 'get' ? null : await readBody(exchange, endpoint.maxBytes, share);
  const document = bytes ? checkedDocument(exchange, endpoint, bytes) : NO_DOCUMENT;
  const query = endpoint.readQuery(exchange.head.query);
  const request = { principal: admitted.principal, params: admitted.params, query, exchange };
  const call = new HttpCall(request, service, document);
  const reply = await route.run(call as Parameters<typeof route.run>[0]);
  const delivered = replyJson(exchange, reply);
  if (!delivered) route.undelivered?.(call as Parameters<typeof route.run>[0], reply);
}

function checkedDocument(exchange: Exchange, endpoint: Endpoint<JsonRoute>, bytes: Buffer): Document {
  const { headers } = exchange.head;
  const document = readDocument(bytes, {
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    yaml: endpoint.route.yaml ?? false,
    // Workers of other make write NaN where Python's json module does.
    tolerant: endpoint.route.right === 'execute',
  });
  const checked = endpoint.checkBody(document.value);
  if (!checked.ok) throw ClusterError.invalid('body', checked.faults);
  return { value: checked.value, text: document.text };
}
