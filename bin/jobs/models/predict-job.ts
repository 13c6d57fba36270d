import { basename } from 'node:path';
import { compose, type RawJson } from '../../../machines/json/raw.ts';
import { LIMITS } from '../../../machines/protocol/limits.ts';
import { type FoundModel, labelFor } from './find-model.ts';

export interface PredictionOrder {
  library: string;
  model: FoundModel;
  /** A path of this machine or of the workers, or the id of an artifact. */
  dataset: string;
  params: Readonly<Record<string, string | boolean | RawJson>>;
  name?: string | undefined;
  priority?: number | undefined;
}

/** The specification of a job that predicts, as JSON text; what lies here is marked for upload. */
export function predictionSpec({ library, model, dataset, params, name, priority }: PredictionOrder): string {
  const label = labelFor(model);
  return compose({
    type: `${library}.predict`,
    name: name ?? nameFor(dataset, label),
    priority,
    model: { ...referenceTo(model), name: label },
    dataset: /^art_\w+$/.test(dataset)
      ? { kind: 'artifact', artifact_id: dataset }
      : { kind: 'shared_path', path: dataset },
    params: Object.keys(params).length === 0 ? undefined : params,
  });
}

/** So that lists tell one from another; `new.csv by best of gasoline`. */
const nameFor = (dataset: string, label: string | undefined): string | undefined =>
  label === undefined ? undefined : `${basename(dataset)} by ${label}`.slice(0, LIMITS.name);

function referenceTo(model: FoundModel): object {
  switch (model.kind) {
    case 'file':
      return { kind: 'artifact', artifact_id: `file:${model.path}` };
    case 'artifact':
      return { kind: 'artifact', artifact_id: model.id };
    case 'job':
      return { kind: 'best_model', job_id: model.id };
  }
}
