import type { Logger } from 'pino';
import { NotedPeers, type Peer, peerOf } from '../../../machines/protocol/peers.ts';
import { StartError } from '../../../machines/protocol/start-error.ts';
import type { Backend } from '../../backend.ts';
import type { RequestHead } from '../../transport/head.ts';
import { API_VERSION } from '../../version.ts';
import { type Header, Refusal } from '../reply/refusal.ts';

const HEADER_NAME = /^[A-Za-z0-9][A-Za-z0-9-]*$/;
const VERSION = /^(\d{1,9})(\.\d+)*$/;
const MAX_TEXT = 100;

/** The version headers: read, compared, answered (docs/protocol.md#versioning). */
export class Handshake {
  /** The headers that every answer carries. */
  readonly headers: readonly Header[];
  /** Their names, and those that requests carry, for CORS. */
  readonly names: readonly string[];
  readonly #prefixes: readonly string[];
  readonly #version: string;
  readonly #backend: Backend;
  readonly #log: Logger;
  readonly #noted = new NotedPeers();

  /** @throws StartError `bad_option` for a prefix that cannot stand in a header's name */
  constructor(options: { prefixes: readonly string[]; version: string; port: Backend; log: Logger }) {
    const bad = options.prefixes.find((prefix) => !HEADER_NAME.test(prefix));
    if (bad !== undefined) {
      throw new StartError('bad_option', `--header-prefix '${bad}' may hold letters, digits and '-' only`);
    }
    // Whether the header's name or only what tells it from others is given.
    const named = options.prefixes.map((prefix) => prefix.replace(/^x-(?=.)/i, ''));
    const unique = new Map(['CLUSTER', ...named].map((p) => [p.toLowerCase(), p]));
    this.headers = [...unique.values()].flatMap((prefix): Header[] => [
      [`X-${prefix}-Version`, options.version],
      [`X-${prefix}-Api`, String(API_VERSION)],
      [`X-${prefix}-Role`, 'server'],
    ]);
    this.names = this.headers.map(([name]) => name);
    this.#prefixes = [...unique.keys()];
    this.#version = options.version;
    this.#backend = options.port;
    this.#log = options.log;
  }

  /**
   * Refuses another protocol major. An absent or empty header is compatible; of `1.4` only the 1 counts; a text
   * that is no version is refused, since nothing says that its sender speaks this protocol.
   */
  check(head: RequestHead): void {
    for (const prefix of this.#prefixes) {
      const sent = head.headers[`x-${prefix}-api`]?.trim();
      if (!sent) continue;
      const major = VERSION.exec(sent)?.[1];
      if (major !== undefined && Number(major) === API_VERSION) continue;
      throw new Refusal(
        'incompatible_api',
        `this server speaks protocol ${API_VERSION}, the request protocol '${sent.slice(0, MAX_TEXT)}'; ` +
          'update the older of the two',
      );
    }
  }

  /** Notes a compatible peer of another package version, once per (role, version); for those who were let in. */
  note(head: RequestHead): void {
    for (const prefix of this.#prefixes) {
      const version = head.headers[`x-${prefix}-version`];
      if (!version || version === this.#version) continue;
      const peer = peerOf(head.headers[`x-${prefix}-role`], version);
      if (peer) this.#noteOnce(peer);
    }
  }

  /** The supervisor knows which were noted before; who was passed on to it once is not passed on again. */
  #noteOnce(peer: Peer): void {
    if (!this.#noted.isNew(peer)) return;
    this.#noted.add(peer);
    this.#backend.send({ type: 'note_peer', ...peer }).catch((error: unknown) => {
      // Not recorded, so the next request of such a peer tries again.
      this.#noted.delete(peer);
      this.#log.debug({ err: error, ...peer }, 'a peer of another version could not be noted');
    });
  }
}
