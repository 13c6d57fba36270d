import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { jobText } from '../crash/load.ts';
import { multipart, type RawAnswer, RawConnection } from '../gateway/support.ts';
import { openFilesOf, processorTimeOf, quietPort, restsOf } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

export interface FileFigures {
  limit: number;
  connections: number;
  /** Processor time per second while no connection can be taken. */
  load: number;
  /** Milliseconds for which it ran until it went to rest again, on average: the same on a busy machine. */
  stretch: number;
}

const UPLOAD = multipart([{ disposition: 'name="file"; filename="a"', content: 'x'.repeat(1000) }]);

/** One request on a connection that is open already. */
async function over(connection: RawConnection, line: string, body: Buffer | string, type: string) {
  connection.head(line, { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)) });
  connection.write(body);
  return connection.answer();
}

const post = (connection: RawConnection, path: string, body: unknown) =>
  over(connection, `POST ${path}`, JSON.stringify(body), 'application/json');

const codeOf = ({ status, body }: RawAnswer) => [status, JSON.parse(body).code];

/**
 * `connections` clients want more of a server than it may have open, which is `room` files more than it has at
 * first; then they go.
 */
export async function outOfFiles(state: string, room: number, connections: number): Promise<FileFigures> {
  // A port that no client gets for its own end: who connects to a shut door again and again would reach itself.
  const server = await startServerProgram({ state, port: await quietPort() });
  const port = Number(new URL(server.url).port);
  const client = new ClusterClient({ server: server.url });
  const flood: Socket[] = [];
  let isFlooding = true;
  try {
    const job = await client.call('submitJob', { text: jobText('before', 1) });
    const body = { version: { packages: { tick: '1' } } };
    const { worker_id } = await client.call('registerWorker', { body });
    // Connections that are there before the flood.
    const early = await Promise.all(Array.from({ length: 6 }, () => RawConnection.open(port)));
    const stored = await over(early[0] as RawConnection, 'POST /v1/artifacts', UPLOAD.body, UPLOAD.type);
    const { artifact_id } = JSON.parse(stored.body);

    const limit = openFilesOf(server.pid) + room;
    // Only now: to start, a program opens its many modules at once.
    execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${limit}:${limit}`]);
    const press = (): void => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      flood.push(socket);
      // Who is let go for having said nothing comes again.
      socket.on('close', () => setTimeout(() => isFlooding && press(), 50));
    };
    for (let i = 0; i < connections; i++) press();
    await until('no file to be left', () => openFilesOf(server.pid) >= limit);
    const [a, b, c, d, e] = early as [RawConnection, ...RawConnection[]] & RawConnection[];
    // The server itself opens some for a moment to find out that there are none, which others may then have.
    const upload = await until('an upload to find no file', async () => {
      const answer = await over(a as RawConnection, 'POST /v1/artifacts', UPLOAD.body, UPLOAD.type);
      return answer.status !== 200 && answer;
    });
    assert.deepEqual(codeOf(upload), [503, 'overloaded']);
    assert.ok(Number(upload.headers.get('retry-after')) > 0, 'it says when to come back');
    (b as RawConnection).head(`GET /v1/artifacts/${artifact_id}`);
    assert.deepEqual(codeOf(await (b as RawConnection).answer()), [503, 'overloaded']);
    const submitted = await over(
      c as RawConnection,
      'POST /v1/jobs',
      jobText('during', 1),
      'application/json',
    );
    assert.equal(submitted.status, 200, 'the store has its files open');
    const heard = await post(d as RawConnection, `/v1/workers/${worker_id}/heartbeat`, {});
    assert.equal(heard.status, 200);
    (e as RawConnection).head('GET /v1/jobs');
    assert.equal(JSON.parse((await (e as RawConnection).answer()).body).length, 2);
    // In the first moment the server finds out; from then on it rests.
    await delay(1000);
    const [before, restsBefore] = [processorTimeOf(server.pid), restsOf(server.pid)];
    const since = performance.now();
    await delay(2000);
    const used = processorTimeOf(server.pid) - before;
    const load = used / ((performance.now() - since) / 1000);
    const stretch = (1000 * used) / Math.max(1, restsOf(server.pid) - restsBefore);

    isFlooding = false;
    for (const socket of flood) socket.destroy();
    for (const connection of early) connection.close();
    await until('the connections to be let go', () => openFilesOf(server.pid) < limit - room / 2);
    const again = await until('the door to be open', () =>
      RawConnection.open(port).catch(() => false as const),
    );
    const retried = await over(again, 'POST /v1/artifacts', UPLOAD.body, UPLOAD.type);
    assert.equal(retried.status, 200, 'with files to open, uploads are taken again');
    again.close();
    assert.equal((await client.call('getJob', { params: { id: job.id } })).status, 'queued');
    assert.equal((await server.terminate()).code, 0);
    return { limit, connections, load, stretch };
  } finally {
    isFlooding = false;
    for (const socket of flood) socket.destroy();
    await client.close();
    await server.kill();
  }
}
