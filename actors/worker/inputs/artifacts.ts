import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError } from '../../../gateway/client/errors.ts';
import { WorkerError } from '../errors.ts';
import { isAbort } from '../link/link-errors.ts';
import { type Persistence, persist } from '../link/persist.ts';
import { type InputCache, isDiskFull } from './cache/cache.ts';
import { copyOf } from './cache/copy.ts';
import { downloadArtifact, fileNameIn, sha256In } from './download.ts';
import { unzip, type ZipLimits } from './zip.ts';

interface ArtifactsOptions {
  client: ClusterClient;
  cache: InputCache;
  zipLimits: ZipLimits;
}

/** An artifact as a task needs it. */
export interface Wanted {
  id: string;
  /** Folder of the attempt that takes it. */
  folder: string;
  /** An archive is unpacked into a folder of this name; a file keeps its own name behind this one and a dash. */
  name: string;
  /** How messages call the archive; null for a file. */
  archive: string | null;
  persistence: Persistence;
}

export interface Placed {
  /** Of the file, or of the folder that was unpacked. It is the attempt's own. */
  path: string;
  /** Hex digest of the artifact's bytes. */
  sha256: string;
}

/** What the server says of an artifact, which never changes. */
interface About {
  sha256: string;
  fileName: string;
}

/** Remembered; what was forgotten is asked for again. */
const MOST_KNOWN = 10_000;

/**
 * Artifacts of the server, each fetched and unpacked once; an attempt gets a copy of its own, to do with as it likes.
 */
export class Artifacts {
  readonly #options: ArtifactsOptions;
  readonly #known = new Map<string, About>();

  constructor(options: ArtifactsOptions) {
    this.#options = options;
  }

  /** @throws InputError, `WorkerError` and others, as `downloadArtifact` and `unzip` */
  async place(wanted: Wanted): Promise<Placed> {
    const about = await this.#about(wanted.id, wanted.persistence);
    // By what does not tell its hash, nothing can be kept.
    if (about === null) return this.#fetch(wanted, wanted.folder, wanted.folder);
    const { sha256, fileName } = about;
    const { folder, name, archive } = wanted;
    const path = join(folder, archive === null ? `${name}-${fileName}` : name);
    await mkdir(folder, { recursive: true });
    await this.#copy(wanted, sha256, path);
    return { path, sha256 };
  }

  /** Puts a copy at the path, of a cache entry that is whole before and after. */
  async #copy(wanted: Wanted, sha256: string, path: string): Promise<void> {
    const { cache } = this.#options;
    const { signal } = wanted.persistence;
    for (let isDone = false; !isDone; ) {
      const key = keyOf(sha256, wanted.archive !== null);
      const held = await cache.use(key, (draft) => this.#fill(wanted, sha256, draft), signal);
      try {
        await copyOf(held.path, path, signal);
        isDone = await held.intact();
      } catch (error) {
        // Once there is nothing to make room by, it is the disk's fault.
        if (!isDiskFull(error) || !(await cache.makeRoom())) throw error;
      } finally {
        await held.release();
      }
      if (!isDone) await rm(path, { recursive: true, force: true });
    }
  }

  async #fill(wanted: Wanted, sha256: string, draft: string): Promise<string> {
    const fetched = await this.#fetch(wanted, join(draft, 'fetched'), join(draft, 'data'));
    if (fetched.sha256 !== sha256) {
      throw new WorkerError(
        `artifact '${wanted.id}' has sha256 ${fetched.sha256}; the server said ${sha256} before`,
      );
    }
    await rm(join(draft, 'fetched'), { recursive: true });
    return join('data', basename(fetched.path));
  }

  /** Downloads to one folder, and puts what a task needs into the other. */
  async #fetch({ id, name, archive, persistence }: Wanted, folder: string, target: string): Promise<Placed> {
    const { client, zipLimits } = this.#options;
    const file = { artifactId: id, folder, prefix: `${name}-` };
    const { path, sha256 } = await downloadArtifact({ client, ...file, persistence });
    const placed = join(target, archive === null ? basename(path) : name);
    if (archive === null) await rename(path, placed);
    else await unzip(path, placed, archive, zipLimits, persistence.signal);
    return { path: placed, sha256 };
  }

  /** Null where the server does not tell, for whatever reason: the download will have it, or say what is wrong. */
  async #about(id: string, persistence: Persistence): Promise<About | null> {
    const known = this.#known.get(id);
    if (known) return known;
    const headers = await persist(
      `look at ${id}`,
      () => this.#options.client.artifactHeaders(id, { signal: persistence.signal }).catch(refusedAsNull),
      persistence,
    );
    const sha256 = headers && sha256In(headers);
    if (!headers || !sha256) return null;
    const about = { sha256, fileName: fileNameIn(headers) };
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(id, about);
    return about;
  }
}

/** The key of a file in the cache; unpacked, it is another entry. */
export const keyOf = (sha256: string, isArchive: boolean): string =>
  `${sha256}-${isArchive ? 'zip' : 'file'}`;

function refusedAsNull(error: unknown): null {
  if (isAbort(error) || !(error instanceof ResponseError) || error.status >= 500) throw error;
  return null;
}
