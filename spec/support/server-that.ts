import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { close, listenFor } from './listen.ts';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that notes what it is asked. */
export async function serverThat(t: TestContext, answer: Answer) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => answer(request, response));
  });
  return { url: (await listenFor(t, server)).url, asked, stop: () => close(server) };
}

export const json = (status: number, body: unknown) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

export const leads = json(200, { ok: true });
export const standsBy = json(503, { detail: 'this server stands by', code: 'standing_by' });
export const cutOff = json(503, { detail: 'the store cannot commit', code: 'store_unavailable' });
