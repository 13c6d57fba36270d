import type { Readable } from 'node:stream';
import type { Blobs, BlobWriter, PlacedBytes, StoredBytes } from '../../../gateway/backend.ts';
import { LeaderOnly } from '../../../gateway/leadership.ts';

/**
 * The bytes of artifacts, for a server that stands by: it reads them where they lie, takes none, and says of none that they are lost.
 * @param find where they lie; null as long as this server does not reach them
 */
export class StandbyBlobs implements Blobs {
  readonly #find: () => Promise<Blobs | null>;
  #found: Blobs | null = null;

  constructor(find: () => Promise<Blobs | null>) {
    this.#find = find;
  }

  async place(): Promise<PlacedBytes> {
    throw new LeaderOnly();
  }

  async create(): Promise<BlobWriter> {
    throw new LeaderOnly();
  }

  async direct(): Promise<null> {
    throw new LeaderOnly();
  }

  async assertWhole(bytes: StoredBytes): Promise<void> {
    this.#found ??= await this.#find();
    return this.#there.assertWhole(bytes);
  }

  async addressOf(bytes: StoredBytes, disposition: string): Promise<string | null> {
    return this.#there.addressOf(bytes, disposition);
  }

  read(bytes: StoredBytes, start: number, end: number): Readable {
    return this.#there.read(bytes, start, end);
  }

  get #there(): Blobs {
    if (this.#found === null) throw new LeaderOnly();
    return this.#found;
  }
}
