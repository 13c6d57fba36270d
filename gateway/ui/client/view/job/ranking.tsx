import { useSignal } from '@preact/signals';
import {
  aligned,
  metricIn,
  otherWinner,
  rankMetricOf,
  shownMetrics,
} from '../../../../../machines/ranking/table.ts';
import { isPrediction } from '../../../../../machines/schema/job-types.ts';
import type { JobView, RankingEntry } from '../../../../../machines/schema/views.ts';
import type { JobDetail } from '../../model/job-detail.ts';
import { tail } from '../../text/format.ts';
import { Id } from '../parts/copy.tsx';
import { NamedAfter } from '../parts/file-name.tsx';
import { Icon } from '../parts/icon.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { ReusedFrom } from './reused-from.tsx';
import { TaskOutcome } from './task-outcome.tsx';

/** Columns of metrics, the one that ranks among them. */
const MOST_METRICS = 7;

const nameOf = ({ pipeline, pipeline_steps }: RankingEntry): string => pipeline_steps ?? pipeline;

export function Ranking({ job, detail }: { job: JobView; detail: JobDetail }) {
  const { ranking } = job.aggregate;
  const { shown, more } = useMore(ranking.length);
  // What was predicted is what one comes for: the only task is open, until somebody closes it.
  const only = isPrediction(job.type) && ranking.length === 1 ? (ranking[0]?.task_id ?? '') : '';
  const closed = useSignal(false);
  const opened = detail.opened.value || (closed.value ? '' : only);
  const toggle = (id: string) => {
    const isByItself = opened === id && detail.opened.value === '';
    if (opened === id) closed.value = true;
    if (!isByItself) detail.toggleTask(id);
  };
  if (ranking.length === 0) return <p class="empty">No task has succeeded yet.</p>;
  const rows = ranking.slice(0, shown);
  const rankMetric = rankMetricOf(job.aggregate);
  const metrics = shownMetrics(rows, rankMetric, MOST_METRICS);
  const columns = metrics.map((metric) =>
    aligned(
      rows.map((entry) => metricIn(entry, metric)),
      '–',
    ),
  );
  const other = otherWinner(
    ranking,
    rankMetric,
    (entry) => `${nameOf(entry)} on ${entry.dataset} (${tail(entry.task_id)})`,
  );
  return (
    <>
      {other !== null && (
        <p class="warning">
          <Icon name="warning" />
          <bdi>{`${other.charAt(0).toUpperCase()}${other.slice(1)}.`}</bdi>
        </p>
      )}
      <Scroller label="Ranking" class="table-frame">
        <table class="inner ranking">
          <caption class="off-screen">
            Succeeded tasks, best first, each with its log and files in a row that can be opened
          </caption>
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
              <RankingRow
                key={entry.task_id}
                entry={entry}
                jobId={job.id}
                rank={metricIn(entry, rankMetric) === null ? '–' : String(i + 1)}
                numbers={metrics.map((metric, column) => ({
                  metric,
                  exact: metricIn(entry, metric),
                  shown: columns[column]?.[i] ?? '',
                }))}
                open={opened === entry.task_id}
                onToggle={() => toggle(entry.task_id)}
              />
            ))}
          </tbody>
        </table>
      </Scroller>
      {more}
    </>
  );
}

interface RowProps {
  entry: RankingEntry;
  jobId: string;
  rank: string;
  numbers: { metric: string; exact: number | null; shown: string }[];
  open: boolean;
  onToggle: () => void;
}

function RankingRow({ entry, jobId, rank, numbers, open, onToggle }: RowProps) {
  const name = nameOf(entry);
  return (
    <>
      <tr class={open ? 'open' : undefined}>
        <td class="right of-rank">{rank}</td>
        <th scope="row" class="of-pipeline">
          <button
            type="button"
            class="opener"
            aria-expanded={open}
            aria-label={`Log and files of ${name} on ${entry.dataset}`}
            onClick={onToggle}
          >
            <Icon name="chevron" />
            <bdi class="name" title={name}>
              {name}
            </bdi>
          </button>
        </th>
        <td class="of-dataset">
          <bdi>{entry.dataset}</bdi>
        </td>
        {numbers.map(({ metric, exact, shown }, i) => (
          <td
            key={metric}
            data-label={metric}
            class={i === 0 ? 'right of-metric leading' : 'right of-metric'}
            title={exact === null ? undefined : String(exact)}
          >
            {shown}
          </td>
        ))}
        <td class="of-task">
          <Id id={entry.task_id} what="task" />
          {entry.reused_from && <ReusedFrom of={entry.reused_from} />}
        </td>
      </tr>
      {open && (
        <tr class="panel-row">
          <td colSpan={numbers.length + 4}>
            <NamedAfter name={`${name} on ${entry.dataset}`}>
              <TaskOutcome task={{ id: entry.task_id, job_id: jobId, status: 'succeeded' }} />
            </NamedAfter>
          </td>
        </tr>
      )}
    </>
  );
}
