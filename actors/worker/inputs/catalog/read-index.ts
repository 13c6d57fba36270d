import { buffer } from 'node:stream/consumers';
import { InputError, WorkerError } from '../../errors.ts';
import { faultsOf } from './index-list.ts';
import { away, type Location, locate, Sources } from './source.ts';

const MAX_INDEX_BYTES = 16 * 1024 * 1024;
const CHECK_MS = 10_000;

/** The text of an index. @throws InputError, `SourceUnavailableError` and others, as `Sources.open` */
export async function readIndex(sources: Sources, index: Location, signal: AbortSignal): Promise<string> {
  const what = 'the catalog';
  const source = await sources.open(index, what, signal).catch((error: unknown) => {
    // No job names it: that the worker's own list is gone is the worker's own matter.
    const isOwn = error instanceof WorkerError && index.kind === 'file';
    throw isOwn ? new WorkerError(error.message, { own: true, cause: error }) : error;
  });
  let bytes = 0;
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_INDEX_BYTES) source.destroy(new InputError(`${what} exceeds ${MAX_INDEX_BYTES} bytes`));
  });
  const content = await buffer(source).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error instanceof InputError ? error : away(index, what, error);
  });
  return content.toString('utf8').replace(/^\uFEFF/, '');
}

/** Whether a catalog that is a file can be read; one elsewhere is no matter of this machine's health. */
export async function readIndexFile(source: string): Promise<void> {
  const index = locate(source);
  if (index.kind === 'http') return;
  const sources = new Sources();
  await readIndex(sources, index, AbortSignal.timeout(CHECK_MS)).finally(() => sources.close());
}

/**
 * Looks at a catalog once, before any task needs it.
 * @returns what is wrong with single entries, or why its server gives nothing now: that may change
 * @throws InputError where it can never work as it stands: no such file, or no list of datasets
 */
export async function checkCatalog(source: string): Promise<string[]> {
  const sources = new Sources();
  const index = locate(source);
  try {
    const text = await readIndex(sources, index, AbortSignal.timeout(CHECK_MS)).catch((error: Error) => {
      if (index.kind === 'file') throw error;
      return error;
    });
    return text instanceof Error ? [text.message] : faultsOf(text, index);
  } finally {
    sources.close();
  }
}
