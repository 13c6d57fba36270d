import type { S3Objects } from '../blobs/s3/s3-objects.ts';
import type { Queries } from '../store/sql.ts';
import { type LostObject, lostObject, namedObjects } from './objects.ts';

/**
 * Those that are named and do not lie in a bucket in their full length, by its listing: both are in the order of their
 * hashes, so that neither is ever in memory.
 * @param onBytes told how many bytes have been looked for
 */
export async function missingIn(
  objects: S3Objects,
  queries: Queries,
  onBytes: (done: number) => void,
): Promise<LostObject[]> {
  const lost: LostObject[] = [];
  const there = objects.inOrder();
  let next = await there.next();
  let done = 0;
  for await (const page of namedObjects(queries)) {
    for (const object of page) {
      while (!next.done && next.value.sha256 < object.sha256) next = await there.next();
      const size = next.done || next.value.sha256 !== object.sha256 ? null : next.value.size;
      if (size === null) lost.push(lostObject(object, 'missing'));
      else if (size !== object.size_bytes)
        lost.push(lostObject(object, `damaged: ${size} bytes instead of ${object.size_bytes}`));
      done += object.size_bytes;
      onBytes(done);
    }
  }
  return lost;
}
