import { LRUCache } from 'lru-cache';
import { outputsOf } from '../../machines/decompose.ts';
import { at, elements, members, withMember } from '../../machines/json/raw.ts';
import type { JobSpec } from '../../machines/schema/job.ts';

/** A job's specification, cut into the pieces that task payloads are made of; text, numbers as written. */
export interface JobDocument {
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
export function cutDocument(request: string, variants?: string): JobDocument {
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
export function expectedFingerprint({ pipelines }: JobDocument, pipeline: number): string | null {
  const text = at(pipelines[pipeline] ?? 'null', 'expected_fingerprint');
  return text === undefined ? null : (JSON.parse(text) as string | null);
}

const present = (text: string | undefined): string | undefined => (text === 'null' ? undefined : text);

/** The specifications that the next lease of the same job needs again. */
export class DocumentCache {
  readonly #kept = new LRUCache<string, JobDocument>({ maxSize: CACHED, sizeCalculation: bytesOf });

  get size(): number {
    return this.#kept.size;
  }

  get(jobId: string): JobDocument | undefined {
    return this.#kept.get(jobId);
  }

  /** Of a job with one task nobody asks again, retries aside; it is let go. */
  keep(jobId: string, document: JobDocument): void {
    if (document.pipelines.length * document.datasets.length > 1 && !document.expands)
      this.#kept.set(jobId, document);
  }
}

/** The pieces are slices of the specification, which stays in memory with them. */
function bytesOf({ pipelines, datasets, params, native }: JobDocument): number {
  const texts = [...pipelines, ...datasets, params, native];
  return texts.reduce((sum, text) => sum + text.length, OVERHEAD + texts.length * 32);
}
