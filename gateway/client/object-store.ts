import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { DirectPut } from '../../machines/schema/direct-upload.ts';
import { type Get, HttpGetter } from './http-get.ts';

/** An answer whose content is still on its way. */
export interface Downloading {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
}

/**
 * Bytes on their way between here and an object store, by addresses that the server names: others vouch for them, and they
 * are told no credential. Not every machine reaches it, and the server has another way.
 */
export class ObjectStore {
  readonly #web = new HttpGetter({ keepAlive: true });

  /**
   * What is given at the address that the server names, under the headers of the server: its `ETag` is the SHA-256. Null where
   * nothing is.
   */
  async get(sent: IncomingMessage, get: Get): Promise<Downloading | null> {
    sent.resume();
    const { location, etag, 'content-disposition': disposition } = sent.headers;
    if (location === undefined || !URL.canParse(location)) return null;
    const body = await this.#web.get(new URL(location), get).catch((error) => {
      if (get.signal?.aborted) throw error;
      return null;
    });
    const status = body?.statusCode ?? 0;
    if (body && (status === 200 || status === 206))
      return { status, headers: { ...body.headers, etag, 'content-disposition': disposition }, body };
    body?.destroy();
    return null;
  }

  /** Whether it took what was sent. */
  async put(
    { url, headers }: DirectPut,
    { body, size }: { body: Readable; size: number },
    get: Omit<Get, 'headers'>,
  ): Promise<boolean> {
    if (!URL.canParse(url)) return false;
    try {
      return (
        (await this.#web.put(new URL(url), body, {
          ...get,
          headers: { ...headers, 'content-length': `${size}` },
        })) < 300
      );
    } catch (error) {
      if (get.signal?.aborted) throw error;
      return false;
    }
  }

  close(): void {
    this.#web.close();
  }
}
