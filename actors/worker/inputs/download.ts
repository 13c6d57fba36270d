import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError, UnreachableError } from '../../../gateway/client/errors.ts';
import { InputError, WorkerError } from '../errors.ts';
import { type Persistence, persist } from '../link/persist.ts';
import { writeHashed } from './hashed.ts';

export interface Download {
  client: ClusterClient;
  artifactId: string;
  /** Folder that takes the file; created. */
  folder: string;
  /** Put before the artifact's own file name, which ends with the extension that runners look at. */
  prefix: string;
  persistence: Persistence;
}

export interface Downloaded {
  path: string;
  /** Hex digest of the bytes. */
  sha256: string;
}

/** How often bytes that are not those of the artifact are fetched once more. */
const DAMAGED_TRIES = 3;
/** How often an answer that breaks off: a server breaks off what it finds damaged, but so does a bad line. */
const BROKEN_TRIES = 5;

/** An answer that began and could not be used; requests are repeated as if none had come. */
class BadAnswer extends UnreachableError {}

/** It broke off. */
class BrokenOff extends BadAnswer {}

/** Its bytes are not those that its ETag names. */
class Damaged extends BadAnswer {}

/**
 * Fetches an artifact, at constant memory, and verifies it by its ETag, which is its SHA-256. Repeated while
 * the server is away, and a few times while what it sends is not the artifact.
 * @throws InputError when there is no such artifact, or its bytes are lost or damaged on the server; `WorkerError`
 *   when this worker does not get them
 */
export async function downloadArtifact(download: Download): Promise<Downloaded> {
  const { artifactId, persistence, folder } = download;
  await mkdir(folder, { recursive: true });
  let [damaged, broken] = [0, 0];
  const step = async () => {
    try {
      return await fetchOnce(download);
    } catch (error) {
      if (error instanceof Damaged && ++damaged === DAMAGED_TRIES) {
        throw new InputError(`${error.message}, ${damaged} times; upload it again`);
      }
      if (error instanceof BrokenOff && ++broken === BROKEN_TRIES) {
        const why = 'it is damaged on the server, or the line to it is bad';
        throw new WorkerError(`${error.message}, and so did ${broken - 1} tries before: ${why}`);
      }
      throw error;
    }
  };
  try {
    return await persist(`download ${artifactId}`, step, persistence);
  } catch (error) {
    throw meaningOf(error, artifactId);
  }
}

/** What an answer of the server says of an artifact. */
function meaningOf(error: unknown, artifactId: string): unknown {
  if (!(error instanceof ResponseError)) return error;
  if (error.status === 404) return new InputError(`there is no artifact '${artifactId}' on the server`);
  if (error.status === 410) {
    return new InputError(
      `the bytes of artifact '${artifactId}' are lost on the server (${error.message}); upload it again`,
    );
  }
  // Without the right to read, this worker will not get it; another one may.
  if (error.status === 403) {
    return new WorkerError(`this worker cannot download artifact '${artifactId}': ${error.message}`);
  }
  return error;
}

async function fetchOnce({ client, artifactId, folder, prefix, persistence }: Download): Promise<Downloaded> {
  const { headers, body } = await client
    .download(artifactId, { signal: persistence.signal })
    .catch((error: unknown) => {
      // To wait for other rights would hold the task back from workers that have them.
      const refused = error instanceof ResponseError && error.status === 403;
      throw refused ? meaningOf(error, artifactId) : error;
    });
  const path = join(folder, prefix + fileNameIn(headers));
  const { signal } = persistence;
  const sha256 = await writeHashed(
    body,
    path,
    signal,
    (cause, bytes) =>
      new BrokenOff(`the download of artifact '${artifactId}' broke off after ${bytes} bytes`, { cause }),
  );
  const said = sha256In(headers);
  if (said !== null && said !== sha256) {
    throw new Damaged(`artifact '${artifactId}' arrived damaged (its sha256 is ${sha256}, not ${said})`);
  }
  return { path, sha256 };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The hash that the headers of an artifact tell; null where they tell none. */
export function sha256In(headers: Headers): string | null {
  const etag = String(headers.etag ?? '').replace(/^(W\/)?"|"$/g, '');
  return /^[0-9a-f]{64}$/.test(etag) ? etag : null;
}

/** The file name that the headers of an artifact tell, made harmless. */
export const fileNameIn = (headers: Headers): string =>
  safeFileName(String(headers['content-disposition'] ?? ''));

/** The name that the server gives the artifact, reduced to what is harmless in any file system. */
export function safeFileName(disposition: string): string {
  const star = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  const plain = /filename="?([^";]+)/i.exec(disposition)?.[1] ?? '';
  let name = plain;
  try {
    if (star !== undefined) name = decodeURIComponent(star.trim());
  } catch {
    // A name that is not percent-encoded as it says; the plain one serves.
  }
  const base = name.split(/[\\/]/).at(-1) ?? '';
  return base.replace(/[^A-Za-z0-9._-]/g, '_').slice(-80) || 'file';
}
