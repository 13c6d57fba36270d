import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { Bucket } from './bucket.ts';

/** The key of what says whose objects these are. */
const KEY = 'owner.json';

/**
 * Of which store the objects below a prefix are. Two stores that share one would remove each what only the other names,
 * so that each prefix belongs to one, which is written there.
 */
export class Owner {
  readonly #bucket: Bucket;
  /** Of the store. */
  readonly #id: string;

  constructor(bucket: Bucket, id: string) {
    this.#bucket = bucket;
    this.#id = id;
  }

  /** What is written there; null for nothing. */
  async read(): Promise<string | null> {
    const text = await this.#bucket.text(KEY);
    if (text === null) return null;
    try {
      return String((JSON.parse(text) as { store?: unknown }).store);
    } catch {
      return text;
    }
  }

  /** Whether the prefix belongs to this store. */
  async isOurs(): Promise<boolean> {
    return (await this.read()) === this.#id;
  }

  /**
   * Takes a prefix that belongs to nobody.
   * @param maySettle whether the store names no object yet, so that it may begin with none
   * @throws StartError `objects_refused` where it is another's, or should be this one's and is nobody's
   */
  async take(maySettle: boolean): Promise<void> {
    const { url } = this.#bucket.location;
    if (maySettle && (await this.read()) === null) await this.write(true);
    const found = await this.read();
    if (found === this.#id) return;
    throw new StartError(
      'objects_refused',
      found === null
        ? `${url} holds no objects of this store; name the place that does, or bring them there with: jq-server copy-objects`
        : `the objects in ${url} belong to another store; name another prefix, or, where this store was restored and the other is gone for good, restore it with --take-objects`,
    );
  }

  /** @param onlyNew not over another's */
  async write(onlyNew: boolean): Promise<void> {
    await this.#bucket.putText(KEY, `${JSON.stringify({ store: this.#id })}\n`, onlyNew);
  }
}
