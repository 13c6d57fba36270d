import type { us_socket_context_t } from 'uWebSockets.js';
import type { StreamRoute } from '../../contract/route.ts';
import type { Reads } from '../../ports.ts';
import type { Admitted } from '../admission.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Exchange } from '../exchange.ts';
import type { StreamAim } from './sockets.ts';

/** Events that the stream of everything begins with (contract, "Events"). */
const GLOBAL_HISTORY = 200;

/**
 * Turns an admitted request into an event stream. Whatever speaks against it is thrown before the upgrade, so
 * that it reaches the client as an HTTP answer.
 */
export async function upgradeToStream(
  exchange: Exchange,
  admitted: Admitted,
  reads: Reads,
  context: us_socket_context_t,
): Promise<void> {
  const endpoint = admitted.endpoint as Endpoint<StreamRoute>;
  const query = endpoint.readQuery(exchange.head.query) as { after_id?: number };
  const jobId = endpoint.route.scope(admitted.params);
  const aim: StreamAim = { jobId, afterId: await beginning(reads, jobId, query.after_id) };
  if (!exchange.begin()) return;
  const { headers } = exchange.head;
  exchange.res.cork(() => {
    exchange.writeHead(101, []);
    exchange.res.upgrade(
      { ...aim },
      headers['sec-websocket-key'] ?? '',
      // No subprotocol and no compression are offered, so none is agreed to.
      '',
      '',
      context,
    );
  });
  exchange.over(101);
}

/** The id behind which the stream begins. Throws `unknown_id` for a job that does not exist. */
async function beginning(reads: Reads, jobId: string | undefined, afterId?: number): Promise<number> {
  if (jobId === undefined) return afterId ?? (await reads.eventIdBefore(GLOBAL_HISTORY));
  await reads.events({ job_id: jobId, after_id: afterId ?? 0, limit: 1 });
  return afterId ?? 0;
}
