import type { JobView, RankingEntry } from '../../../../../machines/schema/views.ts';
import { measured } from '../../text/format.ts';
import { Id } from '../parts/copy.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';

/** Columns of metrics that fit beside the one that ranks. */
const MOST_METRICS = 6;
const OWN = new Set(['task_id', 'dataset', 'pipeline', 'metrics']);

export function Ranking({ job }: { job: JobView }) {
  const { ranking } = job.aggregate;
  const { shown, more } = useMore(ranking.length);
  if (ranking.length === 0) return <p class="empty">No task has succeeded yet.</p>;
  const rows = ranking.slice(0, shown);
  const metrics = metricsOf(rows);
  return (
    <>
      <Scroller label="Ranking" class="table-frame">
        <table class="inner ranking">
          <caption class="off-screen">Succeeded tasks, best first</caption>
          <thead>
            <tr>
              <th scope="col" class="right">
                Rank
              </th>
              <th scope="col">Pipeline</th>
              <th scope="col">Dataset</th>
              {metrics.map((metric, i) => (
                <th key={metric} scope="col" class={i === 0 ? 'right leading' : 'right'}>
                  <bdi>{metric}</bdi>
                </th>
              ))}
              <th scope="col">Task</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((entry, i) => (
              <RankingRow key={entry.task_id} entry={entry} rank={i + 1} metrics={metrics} />
            ))}
          </tbody>
        </table>
      </Scroller>
      {more}
    </>
  );
}

function RankingRow({
  entry,
  rank,
  metrics,
}: {
  entry: RankingEntry;
  rank: number;
  metrics: readonly string[];
}) {
  return (
    <tr>
      <td class="right of-rank">{rank}</td>
      <td class="of-pipeline">
        <bdi>{entry.pipeline}</bdi>
      </td>
      <td class="of-dataset">
        <bdi>{entry.dataset}</bdi>
      </td>
      {metrics.map((metric, i) => {
        const value = metricIn(entry, metric);
        return (
          <td
            key={metric}
            class={i === 0 ? 'right of-metric leading' : 'right of-metric'}
            data-label={metric}
            title={value === null ? undefined : String(value)}
          >
            {measured(value)}
          </td>
        );
      })}
      <td class="of-task">
        <Id id={entry.task_id} what="task" />
      </td>
    </tr>
  );
}

/** The metric that ranks comes first: it stands in the entry under its own name. */
function metricsOf(rows: readonly RankingEntry[]): string[] {
  const ranking = Object.keys(rows[0] ?? {}).filter((key) => !OWN.has(key));
  const others = rows.flatMap(({ metrics }) =>
    Object.keys(metrics).filter((key) => typeof metrics[key] === 'number'),
  );
  return [...new Set([...ranking, ...others])].slice(0, MOST_METRICS);
}

function metricIn(entry: RankingEntry, metric: string): unknown {
  const own = OWN.has(metric) ? undefined : (entry as Record<string, unknown>)[metric];
  return own ?? entry.metrics[metric] ?? null;
}
