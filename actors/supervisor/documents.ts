import { LRUCache } from 'lru-cache';
import { outputsOf } from '../../machines/decompose.ts';
import { elements, members } from '../../machines/json/raw.ts';
import type { JobSpec } from '../../machines/schema/job.ts';

/** A job's specification, cut into the pieces that task payloads are made of; text, numbers as written. */
export interface JobDocument {
  pipelines: string[];
  datasets: string[];
  params: string;
  /** With their defaults. */
  outputs: string;
}

/** Characters of documents kept for the next lease of the same job. */
const CACHED = 64 * 1024 * 1024;

export function cutDocument(request: string): JobDocument {
  const top = members(request);
  const list = (one: string, many: string) => {
    const several = top.get(many);
    return several !== undefined && several !== 'null' ? elements(several) : [top.get(one) ?? 'null'];
  };
  const params = top.get('params');
  const outputs = JSON.parse(top.get('outputs') ?? 'null') as JobSpec['outputs'] | null;
  return {
    pipelines: list('pipeline', 'pipelines'),
    datasets: list('dataset', 'datasets'),
    params: params === undefined || params === 'null' ? '{}' : params,
    outputs: JSON.stringify(outputsOf(outputs ?? undefined)),
  };
}

export function documentCache(): LRUCache<string, JobDocument> {
  return new LRUCache({
    maxSize: CACHED,
    sizeCalculation: (document) =>
      1 +
      [...document.pipelines, ...document.datasets, document.params].reduce(
        (sum, text) => sum + text.length,
        0,
      ),
  });
}
