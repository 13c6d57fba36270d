import { type JsonRoute, takesBody } from '../../contract/route.ts';
import type { Admitted } from '../admission/admission.ts';
import type { Endpoint } from '../admission/endpoint.ts';
import { isQuick, mayGrow } from '../parsing/parse-body.ts';
import { readBody } from '../request/body.ts';
import type { BodyShare } from '../request/body-budget.ts';
import { HttpCall } from '../request/call.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Service } from '../service.ts';
import { reply } from './reply.ts';

/** Runs a JSON endpoint: body, checks, the route, the answer. */
export async function answerJson(exchange: Exchange, admitted: Admitted, service: Service): Promise<void> {
  const endpoint = admitted.endpoint as Endpoint<JsonRoute>;
  const { route } = endpoint;
  const share = service.bodies.share();
  try {
    const bytes = takesBody(route.method) ? await readBody(exchange, endpoint.maxBytes, share) : null;
    const body = bytes ? await understand(exchange, endpoint, bytes, service, share) : {};
    service.assertGranted(exchange);
    const query = endpoint.readQuery(exchange.head.query);
    const request = { principal: admitted.principal, params: admitted.params, query, exchange };
    const call = new HttpCall(request, service, body);
    const result = await route.run(call as Parameters<typeof route.run>[0]);
    service.requests.acted(exchange, call.about);
    const delivered = reply(exchange, result);
    if (!(typeof delivered === 'boolean' ? delivered : await delivered))
      route.undelivered?.(call as Parameters<typeof route.run>[0], result);
  } finally {
    share.release();
  }
}

/** What the route needs of the body. What may take long is read in another process. */
function understand(
  exchange: Exchange,
  endpoint: Endpoint<JsonRoute>,
  bytes: Buffer,
  service: Service,
  share: BodyShare,
) {
  const { headers } = exchange.head;
  const form = { contentType: headers['content-type'], contentEncoding: headers['content-encoding'] };
  // Whatever that becomes, it counts as the largest body.
  if (mayGrow(bytes, form)) share.take(endpoint.maxBytes);
  if (isQuick(bytes, form)) return endpoint.parseBody(bytes, form);
  return service.parsers.parse({ route: endpoint.name, bytes, form });
}
