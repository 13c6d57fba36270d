import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from './listen.ts';

/** Passes bytes on in both ways; a connection that asks for what is marked gets no answer any more, and nobody is told. */
export async function muteProxy(t: TestContext, upstream: number, mark: string) {
  const sockets = new Set<Socket>();
  let muted = 0;
  const server = createServer((from) => {
    const to = connect(upstream, '127.0.0.1');
    let isMute = false;
    from.on('data', (chunk) => {
      if (!isMute && chunk.includes(mark)) {
        isMute = true;
        muted++;
      }
      if (!isMute) to.write(chunk);
    });
    to.on('data', (chunk) => from.write(chunk));
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {}).on('close', () => other.destroy());
    }
  });
  const { port } = await listen(server);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port,
    /** Of how many connections that is so by now. */
    get muted() {
      return muted;
    },
  };
}
