import { aligned } from '../../../../../machines/ranking/table.ts';
import {
  type ComparedJob,
  type ComparedRow,
  letter,
  winnerOf,
} from '../../../../../machines/results/compare.ts';
import { titleOf } from '../../dashboard.ts';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';

interface Props {
  jobs: readonly ComparedJob[];
  rows: readonly ComparedRow[];
  metric: string;
  /** Which end of it is better. */
  mode: 'min' | 'max' | null;
  /** Whether one value can be better than another. */
  isAlike: boolean;
}

/** What is called the same in one row; its best value stands out. */
export function SideBySide({ jobs, rows, metric, mode, isAlike }: Props) {
  const { shown, more } = useMore(rows.length);
  const seen = rows.slice(0, shown);
  const numbers = aligned(
    seen.flatMap(({ values }) => values),
    '–',
  );
  return (
    <>
      <h3>Rankings by {metric}</h3>
      <Scroller label="Rankings side by side" class="table-frame side-by-side">
        <table class="inner">
          <thead>
            <tr>
              <th scope="col">Pipeline</th>
              <th scope="col">Dataset</th>
              {jobs.map(({ job }, i) => (
                <th key={job.id} scope="col" class="right" title={job.name ?? job.id}>
                  {letter(i)} <bdi class="compare-name">{titleOf(job)}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {seen.map(({ pipeline, dataset, values }, row) => {
              const best = winnerOf(rows[row] as ComparedRow, { mode, isAlike });
              return (
                <tr key={`${pipeline} ${dataset}`}>
                  <th scope="row">
                    <bdi>{pipeline}</bdi>
                  </th>
                  <td>
                    <bdi>{dataset}</bdi>
                  </td>
                  {values.map((value, i) => (
                    <td
                      key={i}
                      class={value !== null && value === best ? 'right leading' : 'right'}
                      title={value === null ? undefined : String(value)}
                    >
                      {numbers[row * jobs.length + i]}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroller>
      {more}
    </>
  );
}
