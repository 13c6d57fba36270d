import { BlockList, isIP } from 'node:net';
import { StartError } from '../../../machines/protocol/start-error.ts';
import type { RequestHead } from '../../transport/head.ts';

/**
 * From which address a request came (docs/operations.md#behind-a-proxy). A proxy appends whom it was asked by to
 * `X-Forwarded-For`, and anybody can write anything before that: so the list counts from its end on, as far as those who
 * wrote it are trusted.
 */
export class ClientAddresses {
  readonly #trusted = new BlockList();
  readonly #isAny: boolean;

  /**
   * @param trusted addresses of proxies, such as `10.0.0.2`, `10.0.0.0/24` or `loopback`
   * @throws StartError `bad_option`
   */
  constructor(trusted: readonly string[]) {
    this.#isAny = trusted.length > 0;
    for (const text of trusted.flatMap((one) => (one === 'loopback' ? ['127.0.0.0/8', '::1'] : [one]))) {
      this.#trust(text);
    }
  }

  /** @param peer the other end of the connection; undefined where that is gone */
  of(head: RequestHead, peer: string | undefined): string | undefined {
    let client = peer === undefined ? undefined : plainAddress(peer);
    const list = this.#isAny ? (head.headers['x-forwarded-for']?.split(',') ?? []) : [];
    while (client !== undefined && this.#isTrusted(client)) {
      const before = list.pop();
      const address = before === undefined ? undefined : plainAddress(withoutPort(before.trim()));
      // Where the list ends, or holds something else, nobody knows more than who wrote it.
      if (address === undefined) break;
      client = address;
    }
    return client;
  }

  #trust(text: string): void {
    const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    if (version === 0 || Number(bits ?? 0) > most) {
      const forms = 'an address such as 10.0.0.2, a network such as 10.0.0.0/24, or loopback';
      throw new StartError('bad_option', `--trust-proxy '${text}' is none of these: ${forms}`);
    }
    this.#trusted.addSubnet(address, Number(bits ?? most), version === 4 ? 'ipv4' : 'ipv6');
  }

  #isTrusted(address: string): boolean {
    return this.#trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
}

/** `10.0.0.2:4711` and `[::1]:80`, as some proxies write them. */
const withoutPort = (text: string): string =>
  /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;

/** An address in its shortest form; one of IPv4 as such, also where a socket of IPv6 took it. Undefined for none. */
function plainAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version !== 6) return version === 4 ? text : undefined;
  const short = URL.canParse(`http://[${text}]`) ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const parts = [high, low].flatMap((half) => {
    const value = Number.parseInt(half, 16);
    return [value >> 8, value & 255];
  });
  return parts.join('.');
}
