import { rename, rm } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { safeName } from '../../attempt/paths.ts';
import { InputError } from '../../errors.ts';
import type { Persistence } from '../../link/persist.ts';
import { keyOf } from '../artifacts.ts';
import type { Held, InputCache } from '../cache/cache.ts';
import { writeHashed } from '../hashed.ts';
import { singleFolderIn } from '../paths.ts';
import { unzip, type ZipLimits } from '../zip.ts';
import { choose } from './choose.ts';
import type { CatalogEntry } from './index-list.ts';
import { readIndex } from './read-index.ts';
import { away, type Location, locate, nameOf, Sources, withRetries } from './source.ts';

interface CatalogOptions {
  /** File or address of the index. */
  source: string;
  cache: InputCache;
  zipLimits: ZipLimits;
}

/** A dataset in place, until it is released. It is not the attempt's own: it may be large, and is only to be read. */
export interface CatalogDataset {
  entry: CatalogEntry;
  path: string;
  /** By what libraries should call it. */
  name: string;
  held: Held;
}

/** Datasets by name and version: the index is read anew for each task, what it names is kept on this machine. */
export class Catalog {
  readonly #index: Location;
  readonly #sources = new Sources();
  readonly #options: CatalogOptions;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#index = locate(options.source);
  }

  /**
   * Puts a dataset in place and keeps it there.
   * @throws InputError for what is not in the catalog, or is not what the catalog says;
   *   `SourceUnavailableError` and others where another attempt may succeed
   */
  async use(catalogId: string, persistence: Persistence): Promise<CatalogDataset> {
    const entry = choose(await this.#readIndex(persistence), catalogId, this.#index);
    const isArchive = isZip(entry);
    const fill = (draft: string) => this.#fetch(entry, draft, persistence);
    const held = await this.#options.cache.use(keyOf(entry.sha256, isArchive), fill, persistence.signal);
    if (!isArchive) return { entry, path: held.path, name: fileNameOf(entry.location), held };
    const inner = await singleFolderIn(held.path);
    // Libraries name a dataset after its folder.
    if (inner) return { entry, path: inner, name: basename(inner), held };
    return { entry, path: held.path, name: safeName(entry.id), held };
  }

  close(): void {
    this.#sources.close();
  }

  #readIndex(persistence: Persistence): Promise<string> {
    return withRetries(() => readIndex(this.#sources, this.#index, persistence.signal), persistence);
  }

  /** Fetches, verifies and unpacks a dataset; gives its path below the folder. */
  async #fetch(entry: CatalogEntry, draft: string, persistence: Persistence): Promise<string> {
    const { location } = entry;
    const { signal } = persistence;
    const what = `dataset ${entry.id}@${entry.version}`;
    const file = join(draft, 'fetched');
    const sha256 = await withRetries(async () => {
      const source = await this.#sources.open(location, what, signal);
      return writeHashed(source, file, signal, (fault) => away(location, what, fault));
    }, persistence);
    if (sha256 !== entry.sha256) {
      throw new InputError(
        `${what}: what lies at ${nameOf(location)} has sha256 ${sha256}, the catalog says ${entry.sha256}`,
      );
    }
    if (!isZip(entry)) {
      const path = join(draft, 'data', fileNameOf(location));
      await rename(file, path);
      return relative(draft, path);
    }
    const target = join(draft, 'data', safeName(entry.id));
    await unzip(file, target, what, this.#options.zipLimits, signal);
    await rm(file);
    return relative(draft, target);
  }
}

const isZip = ({ location }: CatalogEntry): boolean => /\.zip$/i.test(fileNameOf(location));

/** The end of a path or address, reduced to what is harmless; above all it keeps the extension. */
function fileNameOf(location: Location): string {
  const path = location.kind === 'file' ? location.path : location.url.pathname;
  const name = path.split(/[\\/]/).at(-1) ?? '';
  return (
    name
      .replace(/%20| /g, '_')
      .replace(/[^A-Za-z0-9._-]/g, '_')
      .replace(/^\.+/, '')
      .slice(-80) || 'file'
  );
}
