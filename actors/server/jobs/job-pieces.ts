import { LRUCache } from 'lru-cache';
import { at, elementsInSteps, membersInSteps, objectOf } from '../../../machines/json/raw.ts';
import { outputsOf } from '../../../machines/submission/decompose.ts';

/** A job's specification, cut into the pieces that task payloads are made of; text, numbers as written. */
export interface JobPieces {
  /** Of a job that predicts, its model. */
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

/**
 * Cuts a specification, which may have many megabytes, in steps.
 * @param variants the pipelines that were found in the one that it names, as a JSON list
 */
export function* cutJobPieces(request: string, variants?: string): Generator<void, JobPieces> {
  const top = yield* membersInSteps(request);
  const model = present(top.get('model'));
  const params = present(top.get('params')) ?? '{}';
  const selects = (present(top.get('select')) ?? present(top.get('decompose'))) !== undefined;
  const found = variants === undefined ? [] : yield* elementsInSteps(variants);
  const given = selects ? yield* membersInSteps(params) : null;
  const outputs = yield* membersInSteps(top.get('outputs') ?? '{}');
  return {
    pipelines: [
      ...(model === undefined ? yield* listIn(top, 'pipeline', 'pipelines') : [model]),
      ...found.map((inline) => `{"kind":"inline_json","inline":${inline}}`),
    ],
    expands: present(top.get('decompose')) !== undefined && variants === undefined,
    datasets: yield* listIn(top, 'dataset', 'datasets'),
    params,
    exploring: given ? objectOf(given, 'refit', false) : params,
    // Who says how it is to be refitted is heard.
    refitting: given && present(given.get('refit')) === undefined ? objectOf(given, 'refit', true) : params,
    native: present(top.get('native_payload')) ?? top.get('nativePayload') ?? 'null',
    outputs: JSON.stringify(
      outputsOf({
        export_best_model: wordIn(outputs, 'export_best_model'),
        keep_task_workspace: wordIn(outputs, 'keep_task_workspace'),
      }),
    ),
  };
}

function* listIn(top: ReadonlyMap<string, string>, one: string, many: string): Generator<void, string[]> {
  const several = present(top.get(many));
  return several === undefined ? [top.get(one) ?? 'null'] : yield* elementsInSteps(several);
}

/** A member that is true or false; undefined where it is left out. */
const wordIn = (of: ReadonlyMap<string, string>, name: string): boolean | undefined => {
  const text = present(of.get(name));
  return text === undefined ? undefined : text === 'true';
};

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
