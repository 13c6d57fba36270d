import { useEffect, useMemo } from 'preact/hooks';
import { parseCurves } from '../../../../../machines/results/curve-file.ts';
import {
  measuredIn,
  type PredictionRow,
  readPredictions,
} from '../../../../../machines/results/predictions.ts';
import type { ArtifactView } from '../../../../../machines/schema/views.ts';
import { ArtifactText } from '../../model/artifact-text.ts';
import { useDashboard } from '../context.ts';
import { Deleted, fileOf } from '../parts/artifact.tsx';
import { Fault } from '../parts/section.tsx';
import { Predicted } from './predicted.tsx';
import { PredictionTable } from './prediction-table.tsx';
import { SettingCurvePlot } from './setting-curve.tsx';

/** What a task predicted, and its curves: drawn here of what it left, if it left any. */
export function TaskPlots({ artifacts }: { artifacts: readonly ArtifactView[] }) {
  if (!artifacts.some(({ role }) => role === 'predictions' || role === 'curves')) return null;
  const [predictions, curves] = [fileOf(artifacts, 'predictions'), fileOf(artifacts, 'curves')?.id];
  return (
    <div class="plots-row">
      <Deleted of={artifacts} what="predictions" />
      <Deleted of={artifacts} what="curves" />
      {predictions !== undefined && <PredictedOf key={predictions.id} file={predictions} />}
      {curves !== undefined && <CurvesOf key={curves} id={curves} />}
    </div>
  );
}

function PredictedOf({ file }: { file: ArtifactView }) {
  const content = useArtifact(file.id, readPredictions);
  const rows = content.value.value;
  return (
    <>
      <Unread of={content} what="The predictions" />
      {rows && <Predictions of={rows} file={file} />}
    </>
  );
}

/** Of a job that predicts, the table is what was asked for; of others, how good the model is. */
function Predictions({ of: rows, file }: { of: readonly PredictionRow[]; file: ArtifactView }) {
  const measured = useMemo(() => measuredIn(rows), [rows]);
  const isAsked = rows.some(({ partition }) => partition === 'predicted');
  return (
    <>
      {isAsked && <PredictionTable of={rows} file={file} />}
      {measured.length > 0 && <Predicted of={measured} />}
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

function useArtifact<Read>(id: string, parse: (text: string) => Read): ArtifactText<Read> {
  const { api } = useDashboard();
  const file = useMemo(() => new ArtifactText(api, id, parse), [id]);
  useEffect(() => {
    void file.load();
  }, [file]);
  return file;
}

function Unread({ of, what }: { of: ArtifactText<unknown>; what: string }) {
  const fault = of.fault.value;
  return fault === null ? null : (
    <Fault text={`${what} could not be read: ${fault}`} onRetry={() => void of.load()} />
  );
}
