import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, type TestContext } from 'node:test';
import pino from 'pino';
import { type BlobOptions, BlobStore } from '../../actors/server/blobs/blob-store.ts';
import type { ObjectDriver } from '../../actors/server/blobs/driver.ts';
import { FolderObjects } from '../../actors/server/blobs/folder-objects.ts';
import { Bucket } from '../../actors/server/blobs/s3/bucket.ts';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { S3Objects } from '../../actors/server/blobs/s3/s3-objects.ts';
import { temporaryDirectory } from '../support/server.ts';
import { FaultProxy } from './fault-proxy.ts';
import { CREDENTIALS, requiresS3, type S3Service, startMoto, startSwift } from './services.ts';

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

export interface Kind {
  name: string;
  needs: { skip: string | false };
  make(t: TestContext): Promise<Place>;
}

const FOLDER: Kind = {
  name: 'a folder',
  needs: { skip: false },
  async make(t) {
    const root = await temporaryDirectory(t);
    await mkdir(join(root, 'uploads'));
    return {
      driver: async () => new FolderObjects(root),
      async paths() {
        const found = await readdir(join(root, 'objects'), { recursive: true, withFileTypes: true });
        return found
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
      },
      bytes: (path) => readFile(join(root, path)),
      async write(path, bytes) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), bytes);
      },
      remove: (path) => rm(join(root, path)),
    };
  },
};

let services = 0;
let prefixes = 0;
export const BUCKET = 'spec';

/** Points this process to a service. */
export function pointTo(url: string): void {
  Object.assign(process.env, CREDENTIALS, { AWS_ENDPOINT_URL_S3: url });
}

/** A service for all specifications of a file, with a way to it on which faults can be made. */
export function service(start: () => Promise<S3Service>): () => Promise<FaultProxy> {
  let running: Promise<{ real: S3Service; proxy: FaultProxy }> | undefined;
  services++;
  after(async () => {
    const { real, proxy } = (await running) ?? {};
    await proxy?.stop();
    await real?.stop();
  });
  const begin = async () => {
    const real = await start();
    const proxy = await new FaultProxy(real.url).start();
    pointTo(proxy.url);
    const bucket = await Bucket.open(s3Location(`s3://${BUCKET}?path-style`));
    await bucket.client.send(new bucket.sdk.CreateBucketCommand({ Bucket: BUCKET }));
    return { real, proxy };
  };
  return async () => {
    running ??= begin();
    const { proxy } = await running;
    proxy.fault = () => undefined;
    proxy.seen.length = 0;
    pointTo(proxy.url);
    return proxy;
  };
}

/** A prefix of its own, which belongs to the store of the test. */
export async function newPrefix(): Promise<{ url: string; bucket: Bucket }> {
  const url = `s3://${BUCKET}/${process.pid}-${services}-${++prefixes}?path-style`;
  return { url, bucket: await Bucket.open(s3Location(url)) };
}

export const s3Kind = (name: string, its: () => Promise<FaultProxy>): Kind => ({
  name,
  needs: requiresS3(),
  async make() {
    await its();
    const { bucket } = await newPrefix();
    const { client, sdk, location } = bucket;
    const at = (path: string) => ({ Bucket: location.bucket, Key: location.prefix + path });
    return {
      driver: async (now = () => Date.now() / 1000) =>
        new S3Objects({ bucket, id: 'the store', isNew: true, log: pino({ level: 'silent' }), now }),
      async paths() {
        const keys: string[] = [];
        for await (const page of bucket.list('objects/')) keys.push(...page.map(({ key }) => key));
        return keys;
      },
      async bytes(path) {
        const { Body } = await client.send(new sdk.GetObjectCommand(at(path)));
        return buffer(Body as Readable);
      },
      async write(path, bytes) {
        await client.send(new sdk.PutObjectCommand({ ...at(path), Body: bytes }));
      },
      async remove(path) {
        await client.send(new sdk.DeleteObjectCommand(at(path)));
      },
    };
  },
});

/** Every place in which objects may lie; to be asked for once in a file. */
export function kinds(): Kind[] {
  return [
    FOLDER,
    s3Kind('a bucket of Swift', service(startSwift)),
    s3Kind('a bucket of moto', service(startMoto)),
  ];
}

/** A blob store on a place, with what a store of artifacts would tell it. */
export async function openBlobs(
  t: TestContext,
  place: Place,
  { maxBytes = 64 * 1024 * 1024, now, ...more }: Partial<BlobOptions> & { now?: () => number } = {},
) {
  const state = await temporaryDirectory(t);
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
