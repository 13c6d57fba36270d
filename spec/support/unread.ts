import { connect, type Socket } from 'node:net';

/** A connection that asks for a path of a server on this machine and never reads the answer. */
export function askUnread(port: number, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`, () => resolve(socket));
    });
    socket.pause();
    socket.on('error', reject);
  });
}
