import { extname } from 'node:path';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { DEFAULT_TYPE, isPrediction, libraryOf } from '../../../machines/schema/job-types.ts';
import { CliError } from '../../cli/exit.ts';
import { datasetLine } from '../../terminal/dataset-report.ts';
import type { Output } from '../../terminal/output.ts';
import { plain } from '../../terminal/plain.ts';
import { findChecker } from './check-inputs.ts';
import { checkPredictions } from './check-predictions.ts';
import type { JobFile } from './job-file.ts';
import { localRef, locate, type Piece, references } from './local-refs.ts';

interface CheckOptions {
  client: ClusterClient;
  /** Whether every path that exists here is uploaded, not only the marked ones. */
  all: boolean;
  folders: readonly string[];
  output: Output;
}

/**
 * Checks datasets before they are uploaded, so that a broken table or a pipeline that does not fit is reported here and
 * not by a worker.
 * @throws CliError with what the run would end with
 */
export async function checkBeforeUpload(file: JobFile, look: CheckOptions): Promise<void> {
  const type = file.spec.type ?? DEFAULT_TYPE;
  const library = libraryOf(type);
  const pieces = references(file.text);
  const [pipelines, datasets] = [new Set<string>(), new Set<string>()];
  for (const piece of pieces) {
    const path = await uploadedPath(piece, look);
    if (path === null || extname(path) === '.zip') continue;
    if (piece.role !== 'model') (piece.role === 'pipeline' ? pipelines : datasets).add(path);
  }
  // What is only to be predicted need not be what one could learn from.
  if (isPrediction(type)) return checkPredictions(file, pieces, datasets, look);
  const check = datasets.size === 0 ? null : await findChecker(library);
  if (!check) return;
  const inputs = [...[...pipelines].map((path) => ({ path })), ...pieces.flatMap(inlinePipeline)];
  for (const dataset of datasets) {
    try {
      const params = file.spec.params ?? {};
      const report = await check({ dataset, pipelines: inputs, params });
      look.output.note(datasetLine(dataset, report));
      for (const warning of report.warnings) look.output.warn(plain(warning));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const hint = `nothing was uploaded; jqctl check ${plain(dataset)} looks again`;
      throw new CliError(error.exit, `${plain(dataset)}: ${error.message}`, { hint });
    }
  }
}

async function uploadedPath(piece: Piece, { all, folders }: CheckOptions): Promise<string | null> {
  const ref = localRef(piece);
  if (!ref || ref.role === 'bundle') return null;
  return ref.marked || all ? locate(ref, folders) : null;
}

function inlinePipeline({ role, text }: Piece, index: number): { content: unknown; name: string }[] {
  if (role !== 'pipeline') return [];
  const piece = JSON.parse(text) as { kind?: unknown; inline?: unknown; name?: unknown };
  if (piece.kind !== 'inline_json') return [];
  return [{ content: piece.inline, name: String(piece.name ?? `pipeline ${index + 1}`) }];
}
