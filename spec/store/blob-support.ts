import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import pino from 'pino';
import { type BlobOptions, BlobStore } from '../../actors/server/blobs/blob-store.ts';
import { FolderObjects } from '../../actors/server/blobs/folder-objects.ts';
import { temporaryDirectory } from '../support/server.ts';

export async function open(t: TestContext, maxBytes = 1024 * 1024, disk: Partial<BlobOptions> = {}) {
  const root = await temporaryDirectory(t);
  /** The hashes that artifacts name. */
  const named = new Set<string>();
  const isNamed = async (hash: string) => named.has(hash);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const isLeaving = async () => false;
  const options = { stateDir: root, maxBytes, reserveBytes: 0, log, isNamed, isLeaving, ...disk };
  const restarted = () => new BlobStore({ driver: new FolderObjects(root), ...options });
  const blobs = restarted();
  await blobs.start();
  const files = async (folder: string) =>
    (await readdir(join(root, folder), { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
  const put = async (...chunks: Uint8Array[]) => {
    const writer = await blobs.create();
    for (const chunk of chunks) await writer.write(chunk);
    const stored = await writer.finish();
    named.add(stored.sha256);
    await writer.keep();
    return stored;
  };
  /** An upload whose bytes lie in their place, while no artifact names them yet. */
  const placed = async (bytes: Uint8Array) => {
    const writer = await blobs.create();
    await writer.write(bytes);
    await writer.finish();
    return writer;
  };
  return { root, blobs, named, restarted, files, put, placed, lines };
}
