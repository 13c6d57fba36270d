import type { ErrorCode } from '../../machines/protocol/errors.ts';
import { InspectionMessage } from '../../machines/schema/inspection.ts';
import { EventView } from '../../machines/schema/views.ts';
import { ERRORS } from '../contract/errors.ts';
import type { JsonRoute, Route, StreamRoute, UploadRoute } from '../contract/route.ts';
import { codesOf } from './codes.ts';
import type { Components, Json } from './schemas.ts';

export const VERSION_HEADERS = ['X-CLUSTER-Version', 'X-CLUSTER-Api', 'X-CLUSTER-Role'] as const;

const text = (description: string): Json => ({ description, schema: { type: 'string' } });

const DOWNLOAD_HEADERS = {
  ETag: text('the SHA-256 of the content, quoted'),
  'Accept-Ranges': text('bytes'),
  'Content-Disposition': text('attachment, with the name under which it was uploaded'),
};

/** Every answer that a route may give, by its status. */
export function responsesOf(route: Route, components: Components): Json {
  const responses: Record<string, Json> = successes(route, components);
  for (const [status, codes] of byStatus(codesOf(route))) responses[status] = refusal(Number(status), codes);
  for (const response of Object.values(responses)) {
    response.headers = { ...versionHeaders(), ...(response.headers as Json) };
  }
  return responses;
}

function successes(route: Route, components: Components): Record<string, Json> {
  switch (route.kind) {
    case 'json':
    case 'upload':
      return { 200: { description: 'Done', content: contentOf(route, components) } };
    case 'download':
      return downloads();
    case 'text':
      return {
        200: { description: 'Text', content: Object.fromEntries(route.types.map((type) => [type, {}])) },
      };
    case 'file':
      return files(route.type);
    case 'page':
      return { 200: { description: 'An HTML page', content: { 'text/html': {} } } };
    case 'stream':
      return { 101: streams(route, components) };
  }
}

const FRAMES: Readonly<Record<StreamRoute['of'], { words: string; schema: unknown }>> = {
  events: {
    words:
      'Each text frame is one event as JSON, history first. Closed with 1001 when the server shuts down and ' +
      'with 1013 when the client does not keep up: connect again with the id of the last event seen as ' +
      '`after_id`. Closed with 1008 when the credential is revoked.',
    schema: EventView,
  },
  inspection: {
    words:
      'Each text frame is one message as JSON: first an `@xstate.actor` for each actor in motion, then what ' +
      'they do, after its commit. Closed with 1001 when the server shuts down and with 1013 when the client ' +
      'does not keep up: a new connection begins with the actors as they are then. Closed with 1008 when the ' +
      'credential is revoked.',
    schema: InspectionMessage,
  },
};

function streams({ of }: StreamRoute, components: Components): Json {
  const { words, schema } = FRAMES[of];
  return {
    description: `The connection is a WebSocket from now on. ${words}`,
    'x-websocket-message': components.of(schema),
  };
}

function contentOf(route: JsonRoute | UploadRoute, components: Components): Json {
  const json = { 'application/json': { schema: components.of(route.reply) } };
  if (route.kind === 'upload' || route.text === undefined) return json;
  return {
    ...json,
    [route.textType ?? 'text/plain']: { schema: { type: 'string', description: route.text } },
  };
}

function downloads(): Record<string, Json> {
  const content = { 'application/octet-stream': {} };
  const range = { 'Content-Range': text('which bytes of how many') };
  return {
    200: { description: 'The whole content', headers: DOWNLOAD_HEADERS, content },
    206: { description: 'The range asked for', headers: { ...DOWNLOAD_HEADERS, ...range }, content },
    304: { description: 'The client has this content already (If-None-Match)', headers: DOWNLOAD_HEADERS },
    307: {
      description:
        'For `Prefer: redirect`, where the server knows an address at which the object store gives the content',
      headers: { ...DOWNLOAD_HEADERS, Location: text('good for some minutes, and as good as a credential') },
    },
  };
}

function files(type: string): Record<string, Json> {
  const { 'Accept-Ranges': _, ...headers } = DOWNLOAD_HEADERS;
  return {
    200: { description: 'The file', headers, content: { [type]: {} } },
    304: { description: 'The client has this file already (If-None-Match)', headers },
  };
}

function refusal(status: number, codes: ErrorCode[]): Json {
  const headers: Json = {};
  if (status === 401) headers['WWW-Authenticate'] = text('Bearer');
  if (status === 416) headers['Content-Range'] = text('how many bytes there are');
  if (status === 503) headers['Retry-After'] = text('seconds until it is worth trying again');
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}`).join('; '),
    headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}

function byStatus(codes: ErrorCode[]): Map<string, ErrorCode[]> {
  const groups = new Map<string, ErrorCode[]>();
  for (const code of codes) {
    const status = String(ERRORS[code].status);
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

function versionHeaders(): Json {
  return Object.fromEntries(VERSION_HEADERS.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
