import { existsSync, readFileSync } from 'node:fs';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { TlsFiles } from '../../transport/tls.ts';
import type { Exchange } from '../request/exchange.ts';
import { headersFor } from './headers.ts';
import type { KeptBody } from './kept-body.ts';

const CONNECT_MS = 2_000;
/** Shorter than servers keep idle connections, so that a request seldom meets one that is being closed. */
const IDLE_MS = 4_000;
/** Bytes of an answer that is read whole before any of it is passed on. */
const WHOLE = 64 * 1024;

/** What came of asking: an answer, read whole where it is small; or none, and whether the other server may have acted. */
export type Asked =
  | { answer: IncomingMessage; whole: Buffer | null }
  | { answer: null; fault: Error; wasSent: boolean };

/** Connections to the server that leads. */
export class LeaderLink {
  readonly #plain = new Agent({ keepAlive: true, timeout: IDLE_MS });
  #secure: SecureAgent | null = null;
  readonly #tls: TlsFiles | undefined;

  /** @param tls what this server shows: the others show the same, or what the same authority has signed */
  constructor(tls: TlsFiles | undefined) {
    this.#tls = tls;
  }

  /**
   * @param leader its address
   * @param body null for none
   * @param end aborted when no answer is waited for any longer
   */
  async ask(leader: string, exchange: Exchange, body: KeptBody | null, end: AbortSignal): Promise<Asked> {
    let wasSent = false;
    try {
      const sent = this.#open(leader, exchange, body !== null, end);
      const answer = await answerOf(sent, () => {
        wasSent = true;
        send(sent, body);
      });
      exchange.onAbort(() => answer.destroy());
      if (!isSmall(answer, exchange)) return { answer, whole: null };
      const whole = await readWhole(answer);
      // Answered before all of it was sent: what is sent through this connection next would be taken for the rest of it.
      if (!sent.writableEnded) sent.destroy();
      return { answer, whole };
    } catch (fault) {
      return { answer: null, fault: fault as Error, wasSent };
    }
  }

  /** Connections that are made from now on trust what this server shows now; what is under way on others goes on. */
  renewTls(): void {
    this.#secure = null;
  }

  close(): void {
    this.#plain.destroy();
    this.#secure?.destroy();
  }

  #open(leader: string, exchange: Exchange, hasBody: boolean, signal: AbortSignal): ClientRequest {
    const { method, path, query } = exchange.head;
    const { protocol, origin } = new URL(leader);
    const url = `${origin}${path}${query === '' ? '' : `?${query}`}`;
    const options = { method, headers: headersFor(exchange, hasBody), signal };
    return protocol === 'https:'
      ? secureRequest(url, { ...options, agent: this.#secureAgent() })
      : request(url, { ...options, agent: this.#plain });
  }

  #secureAgent(): SecureAgent {
    this.#secure ??= new SecureAgent({
      ...{ keepAlive: true, timeout: IDLE_MS, ca: trusted(this.#tls) },
      // Whoever shows the same certificate needs nobody who vouches for it.
      allowPartialTrustChain: true,
    });
    return this.#secure;
  }
}

/** Authorities in PEM: those that Node.js knows, which it forgets where it is told others, and what this server shows. */
function trusted(tls: TlsFiles | undefined): string[] {
  const { NODE_EXTRA_CA_CERTS: further } = process.env;
  const known = [...rootCertificates];
  // As Node.js itself, which says at its start that a file cannot be read.
  if (further && existsSync(further)) known.push(readFileSync(further, 'utf8'));
  if (tls) known.push(readFileSync(tls.cert, 'utf8'));
  return known;
}

/** @param begin called once the connection stands: nothing was sent before */
function answerOf(sent: ClientRequest, begin: () => void): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.once('response', (answer) => {
      // Whoever reads it meets its faults; before somebody does, they must not end the process.
      answer.on('error', () => {});
      resolve(answer);
    });
    sent.once('socket', (socket) => {
      if (!socket.connecting) return begin();
      const timer = setTimeout(() => sent.destroy(new Error('no connection in time')), CONNECT_MS);
      socket.once('close', () => clearTimeout(timer));
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        begin();
      });
    });
  });
}

/** At the pace of the other server. */
function send(sent: ClientRequest, body: KeptBody | null): void {
  if (body === null) return void sent.end();
  const pump = async () => {
    for await (const chunk of body.read()) {
      if (!sent.destroyed && !sent.write(chunk)) await drained(sent);
      if (sent.destroyed) return;
    }
    sent.end();
  };
  pump().catch((fault) => sent.destroy(fault));
}

function drained(sent: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      sent.off('drain', done).off('close', done);
      resolve();
    };
    sent.once('drain', done).once('close', done);
  });
}

/** Refusals are, whether they say so or not. */
function isSmall({ headers, statusCode = 0 }: IncomingMessage, { head }: Exchange): boolean {
  if (head.method === 'HEAD' || statusCode === 304) return false;
  return statusCode >= 400 || Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= WHOLE;
}

/** Rejects where it breaks off. */
async function readWhole(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
