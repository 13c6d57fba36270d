import { ClusterError } from '../../../machines/errors.ts';
import { routes } from '../../contract/routes.ts';
import type { ReadAnswer, ReadOrder } from './order.ts';
import { type BodyReader, bodyReader } from './read.ts';

/** One reader a route, made when the first of its bodies comes: compiling all checks would take longer than most reading. */
const readers = new Map<string, BodyReader>();

function readerOf(route: ReadOrder['route']): BodyReader {
  const known = readers.get(route);
  if (known) return known;
  const found = routes[route];
  if (found.kind !== 'json') throw new Error(`the route ${route} takes no body that can be read`);
  const reader = bodyReader(found);
  readers.set(route, reader);
  return reader;
}

function answerTo({ route, bytes, form }: ReadOrder): ReadAnswer {
  try {
    return { read: readerOf(route)(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), form) };
  } catch (fault) {
    if (fault instanceof ClusterError) {
      return { refused: { code: fault.code, detail: fault.message, faults: fault.faults } };
    }
    return { fault: (fault as Error).stack ?? String(fault) };
  }
}

// A signal to the whole group, such as Ctrl-C, is for the server: it answers first what is under way.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// When the server is gone, nothing is left to wait for, and this process ends.
process.on('message', (order: ReadOrder) => process.send?.(answerTo(order)));
