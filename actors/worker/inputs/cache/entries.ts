import { chmod, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../../../shared/make-directory.ts';
import { bytesOf, contentOf, type Member, membersOf, stampOf } from './members.ts';

/** What an entry says of itself; written last, so that an entry with it is whole. */
export interface Mark {
  /** Of the data, below the entry's folder. */
  path: string;
  bytes: number;
  /** Digest of the data, see `contentOf`. */
  content: string;
}

const MARK_FILE = 'entry.json';
const DATA = 'data';

/** The folders of a cache: whole entries, those that are being filled or removed, and a lock for each. */
export class Entries {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes its folders. @throws the system's error */
  async open(): Promise<void> {
    for (const part of ['entries', 'drafts', 'locks']) await makeDirectory(join(this.#folder, part));
  }

  keys = (): Promise<string[]> => readdir(join(this.#folder, 'entries'));
  drafts = (): Promise<string[]> => readdir(join(this.#folder, 'drafts'));
  lock = (key: string): string => join(this.#folder, 'locks', key);

  /** Null where there is no whole entry. */
  async mark(key: string): Promise<Mark | null> {
    try {
      const { path, bytes, content } = JSON.parse(await readFile(this.#mark(key), 'utf8')) as Mark;
      const isWhole = typeof path === 'string' && typeof bytes === 'number' && typeof content === 'string';
      return isWhole ? { path, bytes, content } : null;
    } catch {
      return null;
    }
  }

  /** What an entry holds; null when it cannot be read whole. */
  members = (key: string): Promise<Member[] | null> =>
    membersOf(join(this.#entry(key), DATA)).catch(() => null);

  /** Where the data of an entry lies. */
  data = (key: string, mark: Mark): string => join(this.#entry(key), mark.path);

  /** Notes that an entry is used now. */
  async touch(key: string): Promise<void> {
    const now = new Date();
    await utimes(this.#mark(key), now, now);
  }

  /** When it was used last, in milliseconds; 0 where that is not known. */
  async usedAt(key: string): Promise<number> {
    return (await stat(this.#mark(key)).catch(() => null))?.mtimeMs ?? 0;
  }

  /** An empty draft, with a folder `data`; needs the lock alone. */
  async draft(key: string): Promise<string> {
    await this.dropDraft(key);
    const draft = this.#draft(key);
    await makeDirectory(join(draft, DATA));
    return draft;
  }

  /**
   * Makes an entry of a draft, in one step; needs the lock alone.
   * @param path of the data, below the draft
   * @returns its mark, and the stamp of what it holds
   */
  async publish(key: string, path: string): Promise<{ mark: Mark; stamp: string }> {
    const draft = this.#draft(key);
    const data = join(draft, DATA);
    for (const member of await membersOf(data)) if (member.stats.isFile()) await chmod(member.path, 0o400);
    const members = await membersOf(data);
    const mark: Mark = { path, bytes: bytesOf(members), content: await contentOf(members) };
    await writeFile(join(draft, MARK_FILE), JSON.stringify(mark));
    await rm(this.#entry(key), { recursive: true, force: true });
    await rename(draft, this.#entry(key));
    return { mark, stamp: stampOf(members) };
  }

  /** Removes an entry if it is there, in one step as far as others see it; needs the lock alone. */
  async remove(key: string): Promise<void> {
    await this.dropDraft(key);
    await rename(this.#entry(key), this.#draft(key)).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (error.code !== 'ENOENT') throw error;
    });
    await this.dropDraft(key);
  }

  /** Removes a draft that nobody fills; needs the lock alone. */
  dropDraft = (key: string): Promise<void> => rm(this.#draft(key), { recursive: true, force: true });

  #entry = (key: string): string => join(this.#folder, 'entries', key);
  #draft = (key: string): string => join(this.#folder, 'drafts', key);
  #mark = (key: string): string => join(this.#entry(key), MARK_FILE);
}
