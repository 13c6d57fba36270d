import { LRUCache } from 'lru-cache';
import { at, elements, members, withMember } from '../../../machines/json/raw.ts';
import type { JobSpec } from '../../../machines/schema/job.ts';
import { outputsOf } from '../../../machines/submission/decompose.ts';

/** A job's specification, cut into the pieces that task payloads are made of; text, numbers as written. */
export interface JobPieces {
  pipelines: string[];
  datasets: string[];
  params: string;
  /** The same for tasks of a job that selects: without a refit, and with it. */
  exploring: string;
  refitting: string;
  /** What the client gives its workers beside all that is known here. */
  native: string;
  /** With their defaults. */
  outputs: string;
  /** Whether its pipelines are yet to be found in the one that it names, behind which they stand then. */
  expands: boolean;
}

/** Bytes of documents kept for the next lease of the same job. */
const CACHED = 32 * 1024 * 1024;
/** What a document takes beside its text. */
const OVERHEAD = 1024;

/** @param variants the pipelines that were found in the one that it names, as a JSON list */
export function cutJobPieces(request: string, variants?: string): JobPieces {
  const top = members(request);
  const list = (one: string, many: string) => {
    const several = top.get(many);
    return several !== undefined && several !== 'null' ? elements(several) : [top.get(one) ?? 'null'];
  };
  const params = present(top.get('params')) ?? '{}';
  const selects = (present(top.get('select')) ?? present(top.get('decompose'))) !== undefined;
  const outputs = JSON.parse(top.get('outputs') ?? 'null') as JobSpec['outputs'] | null;
  const found = variants === undefined ? [] : elements(variants);
  return {
    pipelines: [
      ...list('pipeline', 'pipelines'),
      ...found.map((inline) => `{"kind":"inline_json","inline":${inline}}`),
    ],
    expands: present(top.get('decompose')) !== undefined && variants === undefined,
    datasets: list('dataset', 'datasets'),
    params,
    exploring: selects ? withMember(params, 'refit', false) : params,
    // Who says how it is to be refitted is heard.
    refitting:
      selects && present(at(params, 'refit')) === undefined ? withMember(params, 'refit', true) : params,
    native: present(top.get('native_payload')) ?? top.get('nativePayload') ?? 'null',
    outputs: JSON.stringify(outputsOf(outputs ?? undefined)),
  };
}

/** The fingerprint that the client pinned for a pipeline of the job; null where it did not. */
export function expectedFingerprint({ pipelines }: JobPieces, pipeline: number): string | null {
  const text = at(pipelines[pipeline] ?? 'null', 'expected_fingerprint');
  return text === undefined ? null : (JSON.parse(text) as string | null);
}

const present = (text: string | undefined): string | undefined => (text === 'null' ? undefined : text);

/** The specifications that the next lease of the same job needs again. */
export class JobPiecesCache {
  readonly #kept = new LRUCache<string, JobPieces>({ maxSize: CACHED, sizeCalculation: bytesOf });

  get size(): number {
    return this.#kept.size;
  }

  get(jobId: string): JobPieces | undefined {
    return this.#kept.get(jobId);
  }

  /** Of a job with one task nobody asks again, retries aside; it is let go. */
  keep(jobId: string, pieces: JobPieces): void {
    if (pieces.pipelines.length * pieces.datasets.length > 1 && !pieces.expands)
      this.#kept.set(jobId, pieces);
  }
}

/** The pieces are slices of the specification, which stays in memory with them. */
function bytesOf({ pipelines, datasets, params, native }: JobPieces): number {
  const texts = [...pipelines, ...datasets, params, native];
  return texts.reduce((sum, text) => sum + text.length, OVERHEAD + texts.length * 32);
}
