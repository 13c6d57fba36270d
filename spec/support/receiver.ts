import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { listen } from './listen.ts';

/** The secret as it is written, and as bytes. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
export const KEY = Buffer.alloc(32, 7);

export interface Received {
  headers: IncomingHttpHeaders;
  text: string;
  id: string;
  body: {
    type: string;
    timestamp: string;
    data: {
      job: Record<string, unknown>;
      event: { id: number; message: string; data: Record<string, unknown> };
    };
  };
}

/** Checks a signature by the words of Standard Webhooks alone. */
export function assertSigned({ headers, text }: Received): void {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  const expected = `v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`;
  assert.equal(headers['webhook-signature'], expected);
}

/** A receiver of notifications on a real socket. It answers 204 until the test says otherwise. */
export async function startReceiver(t: TestContext, port = 0) {
  const received: Received[] = [];
  const open: ServerResponse[] = [];
  const said = { answer: (response: ServerResponse): void => void response.writeHead(204).end() };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    received.push({
      ...{ headers: request.headers, text, body: JSON.parse(text) },
      id: String(request.headers['webhook-id']),
    });
    said.answer(response);
  });
  const at = await listen(server, port);
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  t.after(close);
  return {
    received,
    port: at.port,
    url: `${at.url}/hook`,
    answers(status: number, headers: Record<string, string> = {}): void {
      said.answer = (response) => void response.writeHead(status, headers).end('a word of it');
    },
    /** It takes requests, and says nothing. */
    hangs(): void {
      said.answer = (response) => void open.push(response);
    },
    /** Answers what hangs. */
    answer(): void {
      for (const response of open.splice(0)) response.writeHead(204).end();
    },
    /** It goes away. */
    close,
  };
}
