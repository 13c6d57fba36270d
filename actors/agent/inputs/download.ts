import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { AnsweredError, UnreachableError } from '../../../gateway/client/errors.ts';
import { type Persistence, persist } from '../link/persist.ts';
import { InputFault } from './fault.ts';
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

/**
 * Fetches an artifact, at constant memory, and verifies it by its ETag, which is its SHA-256. Repeated while
 * the server is away.
 * @throws InputFault when there is no such artifact
 */
export async function downloadArtifact(download: Download): Promise<Downloaded> {
  const { artifactId, persistence, folder } = download;
  await mkdir(folder, { recursive: true });
  try {
    return await persist(`download ${artifactId}`, () => fetchOnce(download), persistence);
  } catch (fault) {
    if (fault instanceof AnsweredError && fault.status === 404) {
      throw new InputFault(`there is no artifact '${artifactId}' on the server`);
    }
    throw fault;
  }
}

async function fetchOnce({ client, artifactId, folder, prefix, persistence }: Download): Promise<Downloaded> {
  const { headers, body } = await client
    .download(artifactId, { signal: persistence.signal })
    .catch((fault: unknown) => {
      // Without the right to read, this worker will not get it; another one may.
      const refused = fault instanceof AnsweredError && fault.status === 403;
      throw refused ? new Error(`cannot download artifact '${artifactId}': ${fault.message}`) : fault;
    });
  const path = join(folder, prefix + safeFileName(String(headers['content-disposition'] ?? '')));
  const { signal } = persistence;
  const sha256 = await writeHashed(body, path, signal, (fault) => new UnreachableError(client.server, fault));
  const etag = String(headers.etag ?? '').replace(/^(W\/)?"|"$/g, '');
  if (/^[0-9a-f]{64}$/.test(etag) && etag !== sha256) {
    throw new UnreachableError(client.server, new Error(`artifact ${artifactId} arrived damaged`));
  }
  return { path, sha256 };
}

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
