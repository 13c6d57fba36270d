import { extname } from 'node:path';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import type { ModelRef } from '../../../machines/schema/job.ts';
import { libraryOf } from '../../../machines/schema/job-types.ts';
import { CliError } from '../../cli/exit.ts';
import { counted } from '../../terminal/format.ts';
import type { Output } from '../../terminal/output.ts';
import { plain } from '../../terminal/plain.ts';
import { factsOfArtifact } from '../models/download-model.ts';
import type { ModelFacts } from '../models/model-facts.ts';
import { readModelFile } from '../models/model-file.ts';
import { checkNewSamples } from './check-inputs.ts';
import type { JobFile } from './job-file.ts';
import { localRef, locate, type Piece } from './local-refs.ts';

interface Look {
  client: ClusterClient;
  output: Output;
  folders: readonly string[];
}

/**
 * Looks whether spectra that lie here go with the model that is to predict them, before they are uploaded.
 * @param datasets their paths
 * @throws CliError with what the run would end with
 */
export async function checkPredictions(
  file: JobFile,
  pieces: readonly Piece[],
  datasets: Iterable<string>,
  look: Look,
): Promise<void> {
  const paths = [...datasets].filter((path) => extname(path) !== '.zip');
  const model = file.spec.model;
  if (paths.length === 0 || !model) return;
  const facts = await factsOf(model, pieces, look);
  if (facts === null) return;
  for (const path of paths) {
    try {
      const found = checkNewSamples({ dataset: path, model: facts, params: file.spec.params ?? {} });
      if (found === null) continue;
      look.output.note(`${plain(path)}: ${counted(found.samples, 'sample')} to predict`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      throw new CliError(error.exit, error.message, { hint: 'nothing was uploaded' });
    }
  }
}

/** What the model says of itself; null where it says nothing, or is not to be had: the server has the word then. */
async function factsOf(
  model: ModelRef,
  pieces: readonly Piece[],
  { client, folders }: Look,
): Promise<ModelFacts | null> {
  try {
    const piece = pieces.find(({ role }) => role === 'model');
    const local = piece && localRef(piece);
    const path = local ? await locate(local, folders) : null;
    if (path !== null) return await readModelFile(path);
    const id = model.kind === 'artifact' ? model.artifact_id : await bestOf(client, model.job_id);
    return id === null ? null : await factsOfArtifact(client, id);
  } catch {
    return null;
  }
}

const bestOf = async (client: ClusterClient, id: string): Promise<string | null> =>
  (await client.call('getJob', { params: { id } })).aggregate.best_model_artifact_id;

/**
 * Says it where no worker that lives could predict with a model of the library: the job waits for one.
 */
export async function tellOfWorkers(client: ClusterClient, type: string, output: Output): Promise<void> {
  const library = libraryOf(type);
  const workers = await client.call('listWorkers').catch(() => null);
  const alive = workers?.filter(({ status }) => status === 'alive') ?? [];
  if (alive.length === 0 || alive.some(({ labels }) => labels[`predict.${library}`] === 'true')) return;
  const how = library === 'nirs4all' ? '; start one with: jq-worker --python INTERPRETER' : '';
  output.warn(`no live worker predicts with models of ${plain(library)}, so that the job will wait${how}`);
}
