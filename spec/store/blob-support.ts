import { mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import pino from 'pino';
import { type BlobOptions, BlobStore } from '../../actors/server/blobs/blob-store.ts';
import type { ObjectDriver } from '../../actors/server/blobs/driver.ts';
import { FolderObjects } from '../../actors/server/blobs/folder-objects.ts';
import { temporaryDirectory } from '../support/server.ts';

/** Where objects of a test lie, and what others than the server may do there. Paths as `objects/aa/bb/<sha256>`. */
export interface Place {
  /** @param now seconds since the epoch that it goes by */
  driver(now?: () => number): Promise<ObjectDriver>;
  /** All that lies there. */
  paths(): Promise<string[]>;
  bytes(path: string): Promise<Buffer>;
  /** Writes as somebody does who is not the server. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
}

/** The files below a folder, in it as well. */
export const filesBelow = async (folder: string) =>
  (await readdir(await realpath(folder), { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );

export const inFolder = (root: string): Place => ({
  driver: async () => new FolderObjects(root),
  async paths() {
    const found = await filesBelow(join(root, 'objects'));
    return found.map(({ parentPath, name }) => relative(root, join(parentPath, name)));
  },
  bytes: (path) => readFile(join(root, path)),
  async write(path, bytes) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), bytes);
  },
  remove: (path) => rm(join(root, path)),
});

/** A blob store on a place, with what a store of artifacts would tell it. */
export async function openBlobs(
  t: TestContext,
  place: Place,
  { maxBytes = 64 * 1024 * 1024, now, ...more }: Partial<BlobOptions> & { now?: () => number } = {},
) {
  const state = more.stateDir ?? (await temporaryDirectory(t));
  const named = new Set<string>();
  const leaving = new Set<string>();
  const lines: string[] = [];
  const opened = async () => {
    const blobs = new BlobStore({
      ...{ stateDir: state, driver: await place.driver(now), maxBytes, reserveBytes: 0 },
      log: pino({}, { write: (line: string) => void lines.push(line) }),
      isNamed: async (hash) => named.has(hash),
      isLeaving: async (hash) => leaving.has(hash),
      ...more,
    });
    await blobs.start();
    return blobs;
  };
  const blobs = await opened();
  const uploads = () => readdir(join(state, 'uploads'));
  const put = async (bytes: Uint8Array, into = blobs) => {
    const writer = await into.create();
    for (let at = 0; at < bytes.length; at += 1_000_000)
      await writer.write(bytes.subarray(at, at + 1_000_000));
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
  return { state, blobs, named, leaving, lines, opened, uploads, put, placed };
}

/** One on a state directory, as most are. @param state one that is there */
export async function openState(t: TestContext, options: Partial<BlobOptions> = {}, state?: string) {
  const root = state ?? (await temporaryDirectory(t));
  return openBlobs(t, inFolder(root), { stateDir: root, ...options });
}
