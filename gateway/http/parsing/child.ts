import { ClusterError } from '../../../machines/protocol/errors.ts';
import { routes } from '../../contract/routes.ts';
import type { ParseRequest, ParseResponse } from './messages.ts';
import { type BodyParser, bodyParser } from './parse-body.ts';

/**
 * One parser a route, made when the first of its bodies comes: compiling all checks would take longer than parsing most
 * bodies.
 */
const parsers = new Map<string, BodyParser>();

function parserOf(route: ParseRequest['route']): BodyParser {
  const known = parsers.get(route);
  if (known) return known;
  const found = routes[route];
  if (found.kind !== 'json') throw new Error(`the route ${route} takes no body that can be read`);
  const reader = bodyParser(found);
  parsers.set(route, reader);
  return reader;
}

function respond({ route, bytes, form }: ParseRequest): ParseResponse {
  try {
    return { read: parserOf(route)(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), form) };
  } catch (error) {
    if (error instanceof ClusterError) {
      return { refused: { code: error.code, detail: error.message, faults: error.faults } };
    }
    return { fault: (error as Error).stack ?? String(error) };
  }
}

// A signal to the whole group, such as Ctrl-C, is for the server, which first answers what is under way.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// When the server is gone, nothing is left to wait for, and this process ends.
process.on('message', (order: ParseRequest) => process.send?.(respond(order)));
