import type { DirectUpload, DirectUploadReply } from '../../../machines/schema/direct-upload.ts';
import type { ArtifactUploaded } from '../../../machines/schema/views.ts';
import type { Backend } from '../../backend.ts';
import { safeFilename } from '../../http/reply/filename.ts';
import type { UploadedBlob } from '../route.ts';

/**
 * Records bytes that lie in the object store already, or says how they come there without the server. What is asked is
 * the same before and after, so that an answer that was lost, or another server that leads by now, does no harm.
 * @throws ClusterError `artifact_too_large`, and what `record` throws
 */
export async function uploadDirectly(
  { blobs }: Backend,
  { sha256, size_bytes, filename }: DirectUpload,
  record: (blob: UploadedBlob) => Promise<ArtifactUploaded>,
): Promise<DirectUploadReply> {
  const way = await blobs.direct({ sha256, size_bytes });
  if (way === null) return { artifact: null, put: null };
  if ('url' in way) return { artifact: null, put: way };
  try {
    const blob = { sha256, size_bytes, filename: safeFilename(filename ?? undefined) };
    return { artifact: await record(blob), put: null };
  } finally {
    // What no artifact names now is let go; should this fail, it goes as what a crash leaves.
    await way.release().catch(() => {});
  }
}
