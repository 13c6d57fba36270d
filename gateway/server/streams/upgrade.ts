import type { StreamRoute } from '../../contract/route.ts';
import type { ClusterPort, Reads } from '../../ports.ts';
import type { RequestHead } from '../../transport/head.ts';
import type { StreamHandlers } from '../../transport/port.ts';
import type { Admitted } from '../admission.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Exchange, Grant } from '../exchange.ts';
import { upgradeRequired } from '../refusal.ts';
import { InspectionFeed } from './inspection-feed.ts';
import type { StreamAim } from './sockets.ts';

/** What a stream does on its socket, by what it carries and on whose credential. */
export type StreamOpener = (aim: StreamAim, grant: Grant | undefined) => StreamHandlers;

/** Without it the connection would be closed behind the upgrade, as after an answer (RFC 6455, 4.2.1). */
const UPGRADE = /(^|,)\s*upgrade\s*(,|$)/i;
const WEBSOCKET = /(^|,)\s*websocket\s*(,|$)/i;
/** Sixteen bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Whether a request asks for a WebSocket of the version that is spoken here. */
function isHandshake({ headers }: RequestHead): boolean {
  return (
    UPGRADE.test(headers.connection ?? '') &&
    WEBSOCKET.test(headers.upgrade ?? '') &&
    headers['sec-websocket-version']?.trim() === '13' &&
    KEY.test(headers['sec-websocket-key']?.trim() ?? '')
  );
}

/** Events that the stream of everything begins with (docs/protocol.md#events). */
const GLOBAL_HISTORY = 200;

/**
 * Turns an admitted request into a stream. Whatever speaks against it is thrown before the upgrade, so
 * that it reaches the client as an HTTP answer.
 */
export async function upgradeToStream(
  exchange: Exchange,
  admitted: Admitted,
  port: ClusterPort,
  opener: StreamOpener,
): Promise<void> {
  if (!exchange.incoming.upgradable || !isHandshake(exchange.head)) throw upgradeRequired();
  const { route, readQuery } = admitted.endpoint as Endpoint<StreamRoute>;
  const query = readQuery(exchange.head.query);
  const scope = route.scope(admitted.params, query);
  const aim =
    route.of === 'events'
      ? await eventsOf(port.reads, scope, query.after_id as number | undefined)
      : await inspectionOf(port, scope);
  const upgraded = await exchange.upgrade(opener(aim, exchange.grant));
  if (!upgraded && aim.of === 'inspection') aim.feed.closed();
}

/** Finds the id behind which the stream begins. Throws `unknown_id` for a job that does not exist. */
async function eventsOf(reads: Reads, jobId: string | undefined, afterId?: number): Promise<StreamAim> {
  if (jobId !== undefined) await reads.events({ job_id: jobId, after_id: afterId ?? 0, limit: 1 });
  const start = jobId === undefined ? () => reads.eventIdBefore(GLOBAL_HISTORY) : () => 0;
  return { of: 'events', jobId, afterId: afterId ?? (await start()) };
}

/** Begins to watch, before there is a socket. Throws `unknown_id` for an actor that does not exist. */
async function inspectionOf({ inspection }: ClusterPort, actorId: string | undefined): Promise<StreamAim> {
  let unwatch = () => {};
  const feed = new InspectionFeed(() => unwatch());
  unwatch = await inspection.watch(actorId, (messages) => feed.publish(messages));
  return { of: 'inspection', actorId, feed };
}
