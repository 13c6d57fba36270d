import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { parseCurves } from '../../../../../machines/results/curve-file.ts';
import {
  measuredIn,
  type PredictionRow,
  readPredictions,
} from '../../../../../machines/results/predictions.ts';
import type { ArtifactView } from '../../../../../machines/schema/views.ts';
import { Deleted, fileOf } from '../parts/artifact.tsx';
import { Unread, useArtifact } from './artifact-file.tsx';
import { Predicted } from './predicted.tsx';
import { PredictionTable } from './prediction-table.tsx';
import { SettingCurvePlot } from './setting-curve.tsx';
import { type ChosenSample, type SpectraFiles, SpectraSection } from './spectra.tsx';

/** Roles of the files that are drawn. */
const DRAWN = ['predictions', 'curves', 'spectra', 'preprocessed'] as const;

/** What a task predicted, its curves and its spectra: drawn here of what it left, if it left any. */
export function TaskPlots({ artifacts }: { artifacts: readonly ArtifactView[] }) {
  const [predictions, curves] = [fileOf(artifacts, 'predictions'), fileOf(artifacts, 'curves')?.id];
  const spectra = spectraAmong(artifacts);
  const chosen: ChosenSample = useSignal(null);
  if (!artifacts.some(({ role }) => DRAWN.some((one) => one === role))) return null;
  return (
    <div class="plots-row">
      {DRAWN.map((role) => (
        <Deleted key={role} of={artifacts} what={role} />
      ))}
      {predictions !== undefined && (
        <PredictedOf key={predictions.id} file={predictions} chosen={spectra.size > 0 ? chosen : undefined} />
      )}
      {curves !== undefined && <CurvesOf key={curves} id={curves} />}
      {spectra.size > 0 && <SpectraSection files={spectra} chosen={chosen} />}
    </div>
  );
}

function spectraAmong(artifacts: readonly ArtifactView[]): SpectraFiles {
  const [raw, preprocessed] = [fileOf(artifacts, 'spectra'), fileOf(artifacts, 'preprocessed')];
  return new Map([
    ...(raw ? [['raw', raw.id] as const] : []),
    ...(preprocessed ? [['preprocessed', preprocessed.id] as const] : []),
  ]);
}

/** Where there are spectra, one is chosen by its point. */
interface PredictedProps {
  file: ArtifactView;
  chosen: ChosenSample | undefined;
}

function PredictedOf({ file, chosen }: PredictedProps) {
  const content = useArtifact(file.id, readPredictions);
  const rows = content.value.value;
  return (
    <>
      <Unread of={content} what="The predictions" />
      {rows && <Predictions of={rows} file={file} chosen={chosen} />}
    </>
  );
}

/** Of a job that predicts, the table is what was asked for; of others, how good the model is. */
function Predictions({ of: rows, file, chosen }: PredictedProps & { of: readonly PredictionRow[] }) {
  const measured = useMemo(() => measuredIn(rows), [rows]);
  const isAsked = rows.some(({ partition }) => partition === 'predicted');
  return (
    <>
      {isAsked && <PredictionTable of={rows} file={file} />}
      {measured.length > 0 && <Predicted of={measured} chosen={chosen} />}
      {measured.length === 0 && !isAsked && (
        <p class="muted">The predictions are no numbers, so that nothing is drawn.</p>
      )}
    </>
  );
}

function CurvesOf({ id }: { id: string }) {
  const file = useArtifact(id, parseCurves);
  return (
    <>
      <Unread of={file} what="The curves" />
      {file.value.value?.map((curve) => (
        <SettingCurvePlot key={`${curve.of} ${curve.x.name}`} of={curve} />
      ))}
    </>
  );
}
