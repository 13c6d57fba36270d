import { useMemo } from 'preact/hooks';
import { aligned } from '../../../../../machines/ranking/table.ts';
import { csvLine } from '../../../../../machines/results/csv.ts';
import { type MatrixRow, matrixOf, type Placed } from '../../../../../machines/results/overview.ts';
import { save } from '../../api/download.ts';
import { heatFile } from '../../model/heat-file.ts';
import { useFileName } from '../parts/file-name.tsx';
import { Icon } from '../parts/icon.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';

/** Of the colour that stands for the best, percent. */
const STRONGEST = 45;

interface Props {
  entries: readonly Placed[];
  metric: string;
  failed: readonly Pick<Placed, 'pipeline' | 'dataset'>[];
}

/** Pipelines by datasets, where there are several of both. */
export function HeatMap({ entries, metric, failed }: Props) {
  const { datasets, rows } = useMemo(() => matrixOf(entries, metric, failed), [entries, metric, failed]);
  const file = useFileName(`${metric}-by-dataset`);
  const { shown, more } = useMore(rows.length);
  if (datasets.length < 2 || rows.length < 2) return null;
  const written = wordsIn(rows, datasets.length);
  const saveCsv = () => {
    const cells = (row: MatrixRow) => row.cells.map((cell) => (isValue(cell) ? cell.value : cell));
    const lines = rows.map((row) => csvLine([row.pipeline, ...cells(row)]));
    save(new Blob([csvLine(['pipeline', ...datasets]), ...lines], { type: 'text/csv' }), `${file}.csv`);
  };
  return (
    <>
      <div class="heat-head">
        <span class="muted">{metric}: the stronger the colour, the better on its dataset</span>
        <button
          type="button"
          onClick={() => save(heatFile({ metric, datasets, rows, written }), `${file}.svg`)}
          aria-label="Save the picture of pipelines by datasets as SVG"
        >
          <Icon name="download" /> SVG
        </button>
        <button type="button" onClick={saveCsv} aria-label="Save the numbers of pipelines by datasets as CSV">
          <Icon name="download" /> CSV
        </button>
      </div>
      <Scroller label={`${metric} of pipelines by datasets`} class="table-frame">
        <table class="inner heat">
          <thead>
            <tr>
              <th scope="col">Pipeline</th>
              {datasets.map((dataset) => (
                <th key={dataset} scope="col" class="right">
                  <bdi>{dataset}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map(({ pipeline, cells }, row) => (
              <tr key={pipeline}>
                <th scope="row">
                  <bdi>{pipeline}</bdi>
                </th>
                {cells.map((cell, i) => (
                  <Cell key={datasets[i]} of={cell} words={written[row]?.[i] ?? ''} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      {more}
    </>
  );
}

type HeatCell = MatrixRow['cells'][number];

const isValue = (cell: HeatCell): cell is Exclude<HeatCell, 'failed' | null> =>
  cell !== null && cell !== 'failed';

function Cell({ of: cell, words }: { of: HeatCell; words: string }) {
  if (!isValue(cell)) return <td class={cell === 'failed' ? 'right heat-failed' : 'right'}>{words}</td>;
  return (
    <td
      class={cell.share === 1 ? 'right leading' : 'right'}
      style={{ '--heat': `${Math.round(cell.share * STRONGEST)}%` }}
      title={String(cell.value)}
    >
      {words}
    </td>
  );
}

/** What stands in the cells, row by row; the numbers of a column have the same decimals. */
function wordsIn(rows: readonly MatrixRow[], columns: number): string[][] {
  const byColumn = Array.from({ length: columns }, (_, i) => {
    const cells = rows.map(({ cells: all }) => all[i] ?? null);
    const numbers = aligned(
      cells.map((cell) => (isValue(cell) ? cell.value : null)),
      '–',
    );
    return cells.map((cell, row) => (cell === 'failed' ? '× failed' : (numbers[row] ?? '')));
  });
  return rows.map((_, row) => byColumn.map((column) => column[row] ?? ''));
}
