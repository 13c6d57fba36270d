import { LRUCache } from 'lru-cache';
import { type JobSettings, settingsOf } from '../../machines/decompose.ts';
import { elements, members } from '../../machines/json/raw.ts';
import type { JobSpec } from '../../machines/schema/job.ts';

/** A job's specification, cut into the pieces that task payloads are made of; text, numbers as written. */
export interface JobDocument {
  pipelines: string[];
  datasets: string[];
  params: string;
  settings: JobSettings;
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
  return {
    pipelines: list('pipeline', 'pipelines'),
    datasets: list('dataset', 'datasets'),
    params: params === undefined || params === 'null' ? '{}' : params,
    settings: settingsOf(withoutNulls(JSON.parse(request) as JobSpec)),
  };
}

const withoutNulls = (spec: JobSpec): JobSpec =>
  Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null)) as JobSpec;

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
