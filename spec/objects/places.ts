import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, type TestContext } from 'node:test';
import pino from 'pino';
import { Bucket } from '../../actors/server/blobs/s3/bucket.ts';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { S3Objects } from '../../actors/server/blobs/s3/s3-objects.ts';
import { inFolder, type Place } from '../store/blob-support.ts';
import { temporaryDirectory } from '../support/server.ts';
import { FaultProxy } from './fault-proxy.ts';
import { CREDENTIALS, requiresS3, type S3Service, startMoto, startSwift } from './services.ts';

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
    return inFolder(root);
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
