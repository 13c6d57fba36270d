import { compose, type RawJson } from '../../../machines/json/raw.ts';
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
  return compose({
    type: `${library}.predict`,
    name,
    priority,
    model: { ...referenceTo(model), name: labelFor(model) },
    dataset: /^art_\w+$/.test(dataset)
      ? { kind: 'artifact', artifact_id: dataset }
      : { kind: 'shared_path', path: dataset },
    params: Object.keys(params).length === 0 ? undefined : params,
  });
}

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
