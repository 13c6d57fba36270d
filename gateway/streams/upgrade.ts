import type { Backend } from '../backend.ts';
import type { StreamRoute } from '../contract/route.ts';
import { assertGiven } from '../contract/routes/query.ts';
import type { Admitted } from '../http/admission/admission.ts';
import type { Endpoint } from '../http/admission/endpoint.ts';
import { upgradeRequired } from '../http/reply/refusal.ts';
import type { Exchange, Grant } from '../http/request/exchange.ts';
import type { RequestHead } from '../transport/head.ts';
import type { StreamHandlers } from '../transport/transport.ts';
import { InspectionFeed } from './inspection-feed.ts';
import type { StreamTopic } from './stream-sockets.ts';

/** What a stream does on its socket, by what it carries and on whose credential. */
export type StreamOpener = (topic: StreamTopic, grant: Grant | undefined) => StreamHandlers;

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

/** Events that the stream of everything begins with (docs/protocol.md#streams). */
const GLOBAL_HISTORY = 200;

/**
 * Turns an admitted request into a stream. Whatever forbids it is thrown before the upgrade, so
 * that it reaches the client as an HTTP answer.
 */
export async function upgradeToStream(
  exchange: Exchange,
  admitted: Admitted,
  backend: Backend,
  opener: StreamOpener,
): Promise<void> {
  if (!exchange.incoming.upgradable || !isHandshake(exchange.head)) throw upgradeRequired();
  const { route, readQuery } = admitted.endpoint as Endpoint<StreamRoute>;
  const query = readQuery(exchange.head.query);
  const scope = route.scope(admitted.params, query);
  const topic =
    route.of === 'events'
      ? await eventsOf(backend, scope, query.after_id as number | undefined)
      : await inspectionOf(backend, scope);
  const upgraded = await exchange.upgrade(opener(topic, exchange.grant));
  if (!upgraded && topic.of === 'inspection') topic.feed.closed();
}

/**
 * Finds the id behind which the stream begins. Throws `unknown_id` for a job that does not exist, and for an event that
 * there has not been yet: whoever knows one is told, and not left to wait for numbers that mean something else.
 */
async function eventsOf(
  { reads, events }: Backend,
  jobId: string | undefined,
  afterId?: number,
): Promise<StreamTopic> {
  if (jobId !== undefined) await reads.events({ job_id: jobId, after_id: afterId ?? 0, limit: 1 });
  await assertGiven(events, afterId);
  const start = jobId === undefined ? () => reads.eventIdBefore(GLOBAL_HISTORY) : () => 0;
  return { of: 'events', jobId, afterId: afterId ?? (await start()) };
}

/** Begins to watch, before there is a socket. Throws `unknown_id` for an actor that does not exist. */
async function inspectionOf({ inspection }: Backend, actorId: string | undefined): Promise<StreamTopic> {
  let unwatch = () => {};
  const feed = new InspectionFeed(() => unwatch());
  unwatch = await inspection.watch(actorId, (messages) => feed.publish(messages));
  return { of: 'inspection', actorId, feed };
}
