import type { PredictionRow } from '../../../../../machines/results/predictions.ts';
import type { ArtifactView } from '../../../../../machines/schema/views.ts';
import { counted, measured } from '../../text/format.ts';
import { DownloadButton } from '../parts/download.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';

interface Props {
  of: readonly PredictionRow[];
  file: Pick<ArtifactView, 'id' | 'size_bytes'>;
}

/** What was predicted of each sample, with the reference value where that is known. */
export function PredictionTable({ of: rows, file }: Props) {
  const { shown, more } = useMore(rows.length);
  const hasTargets = new Set(rows.map(({ target }) => target)).size > 1;
  const hasValues = rows.some(({ y }) => y !== '');
  const target = hasTargets ? '' : (rows[0]?.target ?? '');
  const numeric = rows.every(({ prediction }) => Number.isFinite(Number(prediction)));
  return (
    <section class="prediction-table" aria-label="Predictions">
      <div class="plots-head">
        <b>{counted(rows.length, 'prediction')}</b>
        <DownloadButton id={file.id} size={file.size_bytes} label="CSV" of="the predictions" />
      </div>
      <Scroller label="Predicted samples" class="table-frame">
        <table class="inner">
          <caption class="off-screen">Samples with their predicted values</caption>
          <thead>
            <tr>
              <th scope="col">Sample</th>
              {hasTargets && <th scope="col">Target</th>}
              <th scope="col" class={numeric ? 'right' : undefined}>
                Predicted <bdi>{target}</bdi>
              </th>
              {hasValues && (
                <>
                  <th scope="col" class={numeric ? 'right' : undefined}>
                    Measured
                  </th>
                  {numeric && (
                    <th scope="col" class="right">
                      Difference
                    </th>
                  )}
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {/* Rows never move, and samples may be called alike. */}
            {rows.slice(0, shown).map((row, i) => (
              <tr key={i}>
                <th scope="row">
                  <bdi>{row.sample}</bdi>
                </th>
                {hasTargets && (
                  <td>
                    <bdi>{row.target}</bdi>
                  </td>
                )}
                <Value text={row.prediction} numeric={numeric} />
                {hasValues && (
                  <>
                    <Value text={row.y} numeric={numeric} />
                    {numeric && <Value text={difference(row)} numeric />}
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      {more}
    </section>
  );
}

/** Numbers as people read them, with all digits in the title; classes as they are. */
function Value({ text, numeric }: { text: string; numeric: boolean }) {
  const shown = text === '' ? '–' : numeric ? measured(Number(text)) : text;
  return (
    <td class={numeric ? 'right' : undefined} title={text || undefined}>
      <bdi>{shown}</bdi>
    </td>
  );
}

const difference = ({ y, prediction }: PredictionRow): string =>
  y === '' ? '' : String(Number(prediction) - Number(y));
