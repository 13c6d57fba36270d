import { constants } from 'node:fs';
import { access, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Logger } from 'pino';
import { StartFault } from '../../../faults.ts';
import { syncPath } from '../../delivery/durable.ts';
import type { Persistence } from '../../link/persist.ts';
import { safeName } from '../../paths.ts';
import { InputFault } from '../fault.ts';
import { writeHashed } from '../hashed.ts';
import { singleFolderIn } from '../paths.ts';
import { unzip, type ZipLimits } from '../zip.ts';
import { DatasetCache } from './cache.ts';
import { choose } from './choose.ts';
import type { CatalogEntry } from './index-list.ts';
import { readIndex } from './read-index.ts';
import { away, type Location, locate, nameOf, patiently, Sources } from './source.ts';

const GIB = 1024 ** 3;

interface CatalogOptions {
  /** File or address of the index. */
  source: string;
  cacheDir: string;
  cacheGb: number;
  zipLimits: ZipLimits;
  log: Logger;
}

/** A dataset in place, until it is released. */
export interface CatalogDataset {
  entry: CatalogEntry;
  path: string;
  release(): Promise<void>;
}

/** Datasets by name and version: the index is read anew for each task, what it names is kept on this machine. */
export class Catalog {
  readonly #index: Location;
  readonly #cache: DatasetCache;
  readonly #sources = new Sources();
  readonly #options: CatalogOptions;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#index = locate(options.source);
    this.#cache = new DatasetCache(options.cacheDir, options.cacheGb * GIB, options.log);
  }

  /** @throws StartFault where datasets cannot be kept */
  async open(): Promise<void> {
    const { cacheDir } = this.#options;
    try {
      await this.#cache.open();
      await access(cacheDir, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (fault) {
      const why = (fault as NodeJS.ErrnoException).code ?? String(fault);
      throw new StartFault(
        'state_unwritable',
        `cannot write to the dataset cache ${cacheDir} (${why}); choose another with --cache-dir`,
      );
    }
    this.#cache.evict();
  }

  /**
   * Puts a dataset in place and keeps it there.
   * @throws InputFault for what is not in the catalog, or is not what the catalog says; `SourceAway` and others
   *   where another attempt may succeed
   */
  async use(catalogId: string, persistence: Persistence): Promise<CatalogDataset> {
    const entry = choose(await this.#readIndex(persistence), catalogId, this.#index);
    // The kind of the file belongs to it: what was kept as one file may turn out to be an archive.
    const key = `${safeName(entry.id)}-${entry.sha256}${isZip(entry) ? '' : '-file'}`;
    const fill = (draft: string) => this.#fetch(entry, draft, persistence);
    return { entry, ...(await this.#cache.use(key, fill, persistence.signal)) };
  }

  async close(): Promise<void> {
    this.#sources.close();
    await this.#cache.close();
  }

  #readIndex(persistence: Persistence): Promise<string> {
    return patiently(() => readIndex(this.#sources, this.#index, persistence.signal), persistence);
  }

  /** Fetches, verifies and unpacks a dataset; gives its path below the folder. */
  async #fetch(entry: CatalogEntry, draft: string, persistence: Persistence): Promise<string> {
    const { location } = entry;
    const { signal } = persistence;
    const what = `dataset ${entry.id}@${entry.version}`;
    const file = join(draft, 'fetched');
    const sha256 = await patiently(async () => {
      const source = await this.#sources.open(location, what, signal);
      return writeHashed(source, file, signal, (fault) => away(location, what, fault));
    }, persistence);
    if (sha256 !== entry.sha256) {
      throw new InputFault(
        `${what}: what lies at ${nameOf(location)} has sha256 ${sha256}, the catalog says ${entry.sha256}`,
      );
    }
    if (!isZip(entry)) {
      const path = join(draft, 'data', fileNameOf(location));
      await syncPath(file);
      await rename(file, path);
      return relative(draft, path);
    }
    // Libraries name a dataset after its folder.
    const target = join(draft, 'data', safeName(entry.id));
    await unzip(file, target, what, this.#options.zipLimits, signal);
    await rm(file);
    return relative(draft, (await singleFolderIn(target)) ?? target);
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
