import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { TestContext } from 'node:test';
import { listenFor } from './listen.ts';

export interface ProxyOptions {
  /** Path below which it serves the server, such as `/jq`. */
  path: string;
  /** Whether it takes the path off before it asks the server. */
  strips: boolean;
  /**
   * Names the server by the server's own address, and tells the browser's in `X-Forwarded-Host`; else it keeps `Host`.
   */
  renames?: boolean;
  /** Pretends that it speaks HTTPS to the browser. */
  secure?: boolean;
}

/** A reverse proxy as people put one before a server: HTTP and WebSocket below one path, 404 for all others. */
export async function reverseProxy(t: TestContext, server: string, options: ProxyOptions): Promise<string> {
  const { path, strips, renames = false, secure = false } = options;
  const { host, port } = new URL(server);
  const aimOf = ({ method, url = '', headers }: IncomingMessage) => {
    const below = url.startsWith(`${path}/`) ? url.slice(path.length) : undefined;
    if (below === undefined) return undefined;
    const told: IncomingHttpHeaders = { ...headers, 'x-forwarded-proto': secure ? 'https' : 'http' };
    if (renames) Object.assign(told, { host, 'x-forwarded-host': headers.host });
    // Over a connection of its own: the server may close one that was idle just as a request goes out.
    const own = { port, host: '127.0.0.1', agent: false };
    return { ...own, method, path: strips ? below : url, headers: told };
  };
  const proxy = createServer((incoming, outgoing) => {
    const aim = aimOf(incoming);
    if (!aim) return void outgoing.writeHead(404).end('the proxy knows no such path');
    const passed = request(aim, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  proxy.on('upgrade', (incoming: IncomingMessage, browser, head) => {
    const aim = aimOf(incoming);
    if (!aim) return void browser.end('HTTP/1.1 404 Not Found\r\n\r\n');
    const passed = request(aim).end();
    const headOf = (answer: IncomingMessage) =>
      `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n` +
      Object.entries(answer.headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('') +
      '\r\n';
    passed.on('upgrade', (answer, upstream, first) => {
      browser.write(headOf(answer));
      browser.write(first);
      upstream.write(head);
      upstream.pipe(browser).pipe(upstream);
      for (const [one, other] of [
        [upstream, browser],
        [browser, upstream],
      ] as const) {
        one.on('error', () => {});
        one.on('close', () => other.destroy());
      }
    });
    passed.on('response', (answer) => {
      browser.write(headOf(answer));
      answer.pipe(browser);
    });
    passed.on('error', () => browser.destroy());
  });
  return (await listenFor(t, proxy)).url + path;
}
