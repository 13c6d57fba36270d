import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type * as Sdk from '@aws-sdk/client-s3';

/** What is sent, and as what. */
interface Sending {
  sdk: typeof Sdk;
  client: Sdk.S3Client;
  at: { Bucket: string; Key: string };
  path: string;
  size: number;
  /** Bytes of a part. */
  partSize: number;
  /** Parts that are on their way at the same time; each takes the memory of one. */
  atOnce: number;
  metadata: Record<string, string>;
  /** Of writing the whole. */
  condition: { IfNoneMatch?: '*' };
}

/**
 * Sends a file in parts, each with its checksum, which the service compares. What fails is aborted, so that nothing is
 * left of it. Each of those that send has one piece of memory, which it fills again and again: what is left to the
 * garbage collection would be several times as much by the time that it looks.
 */
export async function sendParts(sending: Sending): Promise<void> {
  const { sdk, client, at, path, metadata, condition } = sending;
  const file = await open(path, 'r');
  try {
    const begun = new sdk.CreateMultipartUploadCommand({
      ...{ ...at, ChecksumAlgorithm: 'SHA256', Metadata: metadata },
    });
    const upload = { ...at, UploadId: (await client.send(begun)).UploadId };
    try {
      const Parts = await sendAll(sending, upload, file);
      await client.send(
        new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts }, ...condition }),
      );
    } catch (error) {
      // Should this fail as well, it is done when the upload has become old.
      await client.send(new sdk.AbortMultipartUploadCommand(upload)).catch(() => {});
      throw error;
    }
  } finally {
    await file.close();
  }
}

type Upload = Sending['at'] & { UploadId: string | undefined };

async function sendAll(
  { sdk, client, size, partSize, atOnce }: Sending,
  upload: Upload,
  file: FileHandle,
): Promise<Sdk.CompletedPart[]> {
  const parts: Sdk.CompletedPart[] = [];
  const faults: unknown[] = [];
  let next = 0;
  const send = async () => {
    const memory = Buffer.allocUnsafeSlow(partSize);
    while (faults.length === 0 && next * partSize < size) {
      const i = next++;
      const Body = memory.subarray(0, Math.min(partSize, size - i * partSize));
      await readAt(file, Body, i * partSize);
      const ChecksumSHA256 = createHash('sha256').update(Body).digest('base64');
      const part = { PartNumber: i + 1, ChecksumSHA256 };
      const { ETag } = await client.send(new sdk.UploadPartCommand({ ...upload, ...part, Body }));
      parts[i] = { ...part, ETag };
    }
  };
  const sender = () => send().catch((error) => void faults.push(error));
  await Promise.all(Array.from({ length: atOnce }, sender));
  if (faults.length > 0) throw faults[0];
  return parts;
}

async function readAt(file: FileHandle, into: Buffer, position: number): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    done += bytesRead;
  }
}
