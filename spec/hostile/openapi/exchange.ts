import { setTimeout as delay } from 'node:timers/promises';
import { type RawAnswer, RawConnection } from '../../gateway/support.ts';
import type { HostileRequest } from './requests.ts';

/** Milliseconds in which every request is answered, unless it asked to wait. */
const PATIENCE = 20_000;

/** Sends a request on a connection of its own. Throws when no answer comes; null when it asked to wait and does. */
export async function send(port: number, request: HostileRequest): Promise<RawAnswer | null> {
  const connection = await RawConnection.open(port);
  const { method, target, body } = request;
  const named = request.headers.some(([name]) => name === 'Host');
  const headers = [
    ...(named ? [] : [['Host', `127.0.0.1:${port}`]]),
    ...request.headers,
    ...(body ? [['Content-Length', String(body.length)]] : []),
  ];
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  connection.write(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`);
  if (body) connection.write(body);
  const waits = /"wait_s"/.test(request.text ?? body?.toString('latin1') ?? '');
  const enough = new AbortController();
  try {
    const bodiless = method === 'HEAD';
    return await Promise.race([
      connection.answer(bodiless),
      givenUp(waits ? 500 : PATIENCE, waits, enough.signal),
    ]);
  } finally {
    enough.abort();
    connection.close();
  }
}

async function givenUp(ms: number, mayWait: boolean, signal: AbortSignal): Promise<null> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
  if (mayWait || signal.aborted) return null;
  throw new Error(`no answer within ${ms} ms`);
}
