import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { jobText } from '../crash/load.ts';
import { ask } from '../gateway/support.ts';
import { forgetPeak, memoryOf, openFilesOf } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

export interface ClientOptions {
  state: string;
  /** Connections that never say a word. */
  idle: number;
  /** Clients of each kind that send a byte a second. */
  dripping: number;
}

export interface ClientFigures {
  idle: number;
  /** Bytes by which the server's memory grew at its highest. */
  grown: number;
  /** Requests of others that were answered meanwhile. */
  answered: number;
  /** Milliseconds that the slowest of those took. */
  slowest: number;
  /** Seconds until the server had let go of all of them. */
  letGo: number;
}

const TWO_GB = 2_000_000_000;

/**
 * Clients who hold on to what they do not use: silent connections, bodies and heads that come a byte a second, and
 * bodies of 2 GB that are declared and never sent. Others are served meanwhile, and in the end all are let go.
 */
export async function holdingClients({ state, idle, dripping }: ClientOptions): Promise<ClientFigures> {
  const server = await startServerProgram({ state });
  const port = Number(new URL(server.url).port);
  const client = new ClusterClient({ server: server.url });
  const sockets: Socket[] = [];
  const drips = new Set<NodeJS.Timeout>();
  try {
    await client.call('submitJob', { text: jobText('first', 1) });
    const files = openFilesOf(server.pid);
    const before = memoryOf(server.pid).resident;
    forgetPeak(server.pid);
    const since = performance.now();

    const length = `Content-Length: ${TWO_GB}`;
    const refused = await ask(port, { line: 'POST /v1/jobs', headers: { 'Content-Length': String(TWO_GB) } });
    assert.equal(refused.status, 413, 'a job of 2 GB is refused by what it declares');
    const host = `Host: 127.0.0.1:${port}`;
    const multipart = 'Content-Type: multipart/form-data; boundary=x';
    const part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
    const heads = {
      upload: `POST /v1/artifacts HTTP/1.1\r\n${host}\r\n${multipart}\r\n${length}\r\n\r\n${part}`,
      job: `POST /v1/jobs HTTP/1.1\r\n${host}\r\nContent-Length: 1000\r\n\r\n`,
      head: `GET /v1/jobs HTTP/1.1\r\n${host}\r\nX-Long: `,
    };
    for (const head of Object.values(heads)) {
      for (let i = 0; i < dripping; i++) {
        const socket = await opened(port, sockets);
        socket.write(head);
        drips.add(setInterval(() => socket.writable && socket.write('a'), 1000));
      }
    }
    for (let i = 0; i < idle; i++) await opened(port, sockets);
    await until('all to be connected', () => openFilesOf(server.pid) >= files + idle);
    const { answered, slowest } = await servesOthers(client);
    const grown = memoryOf(server.pid).peak - before;

    await until('all to be let go', () => sockets.every((socket) => socket.closed), 180);
    const letGo = (performance.now() - since) / 1000;
    const uploads = join(state, 'uploads');
    assert.ok(existsSync(uploads), 'uploads have their folder');
    await until('the uploads to be gone', () => readdirSync(uploads).length === 0);
    assert.equal((await server.terminate()).code, 0);
    return { idle, grown, answered, slowest, letGo };
  } finally {
    for (const drip of drips) clearInterval(drip);
    for (const socket of sockets) socket.destroy();
    await client.close();
    await server.kill();
  }
}

async function opened(port: number, sockets: Socket[]): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  // Reads the end of the stream, else the socket would never close.
  socket.resume();
  await once(socket, 'connect');
  return socket;
}

async function servesOthers(client: ClusterClient): Promise<{ answered: number; slowest: number }> {
  let slowest = 0;
  let answered = 0;
  for (; answered < 40; answered++) {
    const began = performance.now();
    await client.call('submitJob', { text: jobText(`other-${answered}`, 1) });
    slowest = Math.max(slowest, performance.now() - began);
    await delay(20);
  }
  return { answered, slowest: Math.round(slowest) };
}

/** How many connections a process of this user may have, some left over for everything else. */
export function mostConnections(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1024) - 500;
}
