import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import { aJob, anArtifact, anEvent, aTask } from '../cli/fake-server.ts';
import { close, listen } from './listen.ts';
import { optionalMembers, type ViewName, without } from './modest-views.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents as they come over the wire
type Json = any;

export interface Modesty {
  /** What of a view is not said; default: everything that may be left out. */
  leaveOut?: Partial<Record<ViewName, readonly string[]>>;
  /** Without it, nobody needs a credential. */
  token?: string;
  /** Payloads that are leased, one after the other, in the place of those of submitted jobs. */
  leases?: Json[];
}

/**
 * A server of other make: it knows the endpoints of the specification and no others, says of its views what nobody can
 * do without, names no codes, takes the credential of a stream in the address alone, and waits for nothing. It holds
 * one job that has succeeded, and takes more, which succeed when they are asked for.
 */
export class ModestServer {
  readonly url: string;
  /** Every request, with its query and body. */
  readonly seen: { line: string; query: URLSearchParams; body: string }[] = [];
  readonly #modesty: Modesty;
  readonly #jobs = new Map<string, Json>([['job_1', aJob({ name: 'first' })]]);
  readonly #files = new Map<string, Buffer>([['art_1', Buffer.from('a model')]]);
  readonly #leases: Json[];

  private constructor(url: string, modesty: Modesty) {
    this.url = url;
    this.#modesty = modesty;
    this.#leases = [...(modesty.leases ?? [])];
  }

  static async start(t: TestContext, modesty: Modesty = {}): Promise<ModestServer> {
    const http = createServer((request, response) => {
      server.#answer(request, response).catch((fault: unknown) => response.destroy(fault as Error));
    });
    const server = new ModestServer((await listen(http)).url, modesty);
    const streams = new WebSocketServer({ noServer: true });
    http.on('upgrade', (request, socket, head) => {
      const { pathname, searchParams: query } = new URL(request.url ?? '', server.url);
      server.seen.push({ line: `WS ${pathname}`, query, body: '' });
      const known = /^\/v1\/(jobs\/[^/]+\/)?events\/stream$/.test(pathname);
      if (!known) return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
      if (modesty.token !== undefined && query.get('token') !== modesty.token) {
        return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      }
      streams.handleUpgrade(request, socket, head, (stream) => {
        for (const event of server.#events()) stream.send(JSON.stringify(event));
      });
    });
    t.after(() => {
      for (const stream of streams.clients) stream.terminate();
      close(http);
    });
    return server;
  }

  /** The bodies of the requests of a kind. */
  bodiesOf(line: RegExp): Json[] {
    return this.seen.filter((request) => line.test(request.line)).map(({ body }) => JSON.parse(body || '{}'));
  }

  #say(view: ViewName, whole: object): object {
    return without(whole, this.#modesty.leaveOut?.[view] ?? optionalMembers(view));
  }

  #events(): object[] {
    const types = ['job_submitted', 'task_started', 'log', 'a_word_of_its_own'];
    return types.map((type, i) => this.#say('EventView', anEvent({ id: i + 1, type, task_id: 'task_1' })));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? '', this.url);
    const bytes = await buffer(request);
    const line = `${request.method} ${pathname}`;
    this.seen.push({ line, query, body: bytes.toString('latin1') });
    const reply = (status: number, body: unknown) => {
      const text = Buffer.isBuffer(body) ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-length': Buffer.byteLength(text) }).end(text);
    };
    const { token } = this.#modesty;
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      return reply(401, { detail: 'Not authenticated' });
    }
    if (line === 'POST /v1/artifacts' || /^POST \/v1\/tasks\/[^/]+\/artifacts$/.test(line)) {
      return reply(...this.#upload(bytes));
    }
    const found = this.#lookUp(line) ?? this.#workerAnswer(line, bytes);
    if (found === undefined) return reply(404, { detail: 'Not Found' });
    reply(200, found);
  }

  #lookUp(line: string): unknown {
    const [, id = '', of = ''] = /^\w+ \/v1\/jobs\/([^/]+)(?:\/(\w+))?$/.exec(line) ?? [];
    const job = this.#jobs.get(id);
    if (line === 'GET /v1/jobs') return [...this.#jobs.values()].map((one) => this.#say('JobView', one));
    if (line === 'POST /v1/jobs') {
      const created = aJob({ id: `job_${this.#jobs.size + 1}` });
      this.#jobs.set(created.id, created);
      return this.#say('JobView', created);
    }
    if (line === 'GET /v1/stats') return this.#say('ClusterStats', { server_version: '1', api_version: 1 });
    if (line === 'GET /v1/workers')
      return [this.#say('WorkerView', { id: 'worker_1', name: 'w', status: 'alive' })];
    const file = /^GET \/v1\/artifacts\/(.+)$/.exec(line)?.[1];
    if (file !== undefined) return this.#files.get(file);
    if (!job) return undefined;
    if (line.startsWith('POST') && of !== 'cancel') return undefined;
    if (of === '' || of === 'cancel') return this.#say('JobView', job);
    if (of === 'tasks') return [this.#say('TaskView', aTask({ job_id: id }))];
    if (of === 'events') return this.#events();
    if (of === 'artifacts') return [this.#say('ArtifactView', anArtifact())];
    return undefined;
  }

  #workerAnswer(line: string, bytes: Buffer): unknown {
    if (line === 'POST /v1/workers/register') return this.#say('WorkerRegistered', { worker_id: 'worker_1' });
    if (/^POST \/v1\/workers\/worker_1\/heartbeat$/.test(line)) return {};
    if (/^POST \/v1\/workers\/worker_1\/lease$/.test(line)) {
      // It knows of no withdrawal: whoever asks gets the next task.
      return { task: this.#leases.shift() ?? null };
    }
    if (/^POST \/v1\/tasks\/[^/]+\/(start|events|complete|fail)$/.test(line)) {
      JSON.parse(bytes.toString() || '{}');
      return {};
    }
    return undefined;
  }

  /** Its parser knows form data as RFC 7578 has it: a name in quotation marks, and no extended form. */
  #upload(bytes: Buffer): [number, unknown] {
    const text = bytes.toString('latin1');
    const end = text.indexOf('\r\n\r\n');
    const filename = /name="file"; filename="([^"]*)"/.exec(text.slice(0, end))?.[1];
    if (filename === undefined) {
      return [422, { detail: [{ loc: ['body', 'file'], msg: 'Field required', type: 'missing' }] }];
    }
    const content = bytes.subarray(end + 4, text.lastIndexOf('\r\n--'));
    const artifact_id = `art_${this.#files.size + 1}`;
    this.#files.set(artifact_id, content);
    return [200, { artifact_id, sha256: createHash('sha256').update(content).digest('hex') }];
  }
}
