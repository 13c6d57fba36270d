import { createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

/**
 * A web server that closes the connection behind each answer, as HTTP/1.0 servers and many proxies do; such as
 * `python3 -m http.server`.
 */
export async function closingServer(
  answers: Readonly<Record<string, Buffer>>,
  more: readonly string[] = [],
): Promise<{ url: string; asked: string[]; stop(): void }> {
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', (request: Buffer) => {
      const path = request.toString('latin1').split(' ')[1] ?? '';
      asked.push(path);
      const body = answers[path];
      const head = [
        `HTTP/1.1 ${body ? 200 : 404} It is so`,
        'Connection: close',
        `Content-Length: ${body?.length ?? 0}`,
        ...more,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      socket.end(body ?? '');
    });
  });
  const { url } = await listen(server);
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url, asked, stop };
}
