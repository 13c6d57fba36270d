import { UnreachableError } from '../../../client/errors.ts';
import { filenameOf } from '../../../client/filename.ts';
import type { Api } from './http.ts';

/** Bytes that a browser may hold for us without being asked. */
export const LARGE_BYTES = 256 * 1024 * 1024;

/** Bytes that are gathered before the browser takes them over; what it holds may lie on its disk. */
const FOLD_BYTES = 32 * 1024 * 1024;

/** What can be downloaded; the size, in bytes, where it is known. */
export interface Downloadable {
  id: string;
  size_bytes?: number;
}

/**
 * Fetches an artifact with the bearer token, which a plain link could not send, and hands it to the browser to save.
 * @param onShare told how much has come, 0 to 1
 * @returns the name under which it is saved
 */
export async function download(
  api: Api,
  artifact: Downloadable,
  onShare: (share: number) => void,
): Promise<string> {
  const answer = await api.open(`v1/artifacts/${encodeURIComponent(artifact.id)}`);
  const total = Number(answer.headers.get('Content-Length')) || artifact.size_bytes || 0;
  const name = filenameOf(answer.headers.get('Content-Disposition')) ?? artifact.id;
  save(await collected(answer, (got) => onShare(total > 0 ? Math.min(1, got / total) : 0)), name);
  return name;
}

async function collected(answer: Response, onBytes: (got: number) => void): Promise<Blob> {
  const blobs: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let got = 0;
  let folded = 0;
  try {
    const reader = answer.body?.getReader();
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
      chunks.push(step.value);
      got += step.value.length;
      onBytes(got);
      if (got - folded < FOLD_BYTES) continue;
      blobs.push(new Blob(chunks));
      chunks = [];
      folded = got;
    }
  } catch (error) {
    throw new UnreachableError('the server cannot be reached', { cause: error });
  }
  return new Blob([...blobs, ...chunks], { type: 'application/octet-stream' });
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the blob after the click; a minute is ample for it to begin.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
