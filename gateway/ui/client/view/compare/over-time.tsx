import { useMemo } from 'preact/hooks';
import { aligned } from '../../../../../machines/ranking/table.ts';
import { axisFor } from '../../../../../machines/results/axis.ts';
import {
  bestOf,
  bestOfJob,
  type ChosenMetric,
  type ComparedJob,
  letter,
} from '../../../../../machines/results/compare.ts';
import { titleOf } from '../../dashboard.ts';
import { dateTime, measured } from '../../text/format.ts';
import { JobLink } from '../jobs/link.tsx';
import { Plot } from '../parts/plot.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { StatusOfJob } from '../parts/status.tsx';

/** The best of each job, by when they were submitted. */
export function BestOverTime({ jobs, choice }: { jobs: readonly ComparedJob[]; choice: ChosenMetric }) {
  const { metric, mode, isAlike } = choice;
  const bests = jobs.map((job) => bestOfJob(job, choice));
  const top = isAlike && mode ? bestOf(bests, mode) : null;
  const written = aligned(bests, '–');
  const order = [...jobs.keys()].sort(
    (a, b) => (jobs[a]?.job.created_at ?? 0) - (jobs[b]?.job.created_at ?? 0),
  );
  return (
    <div class="compare-jobs">
      <Scroller label="Compared jobs" class="table-frame">
        <table class="inner">
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col">Name</th>
              {metric !== undefined && (
                <th scope="col" class="right">
                  Best
                </th>
              )}
              <th scope="col">Status</th>
              <th scope="col">Submitted</th>
              <th scope="col">Library</th>
            </tr>
          </thead>
          <tbody>
            {jobs.map(({ job, versions }, place) => {
              const best = bests[place] ?? null;
              return (
                <tr key={job.id}>
                  <th scope="row">
                    {letter(place)} <JobLink id={job.id} />
                  </th>
                  <td>
                    <bdi>{job.name ?? '–'}</bdi>
                  </td>
                  {metric !== undefined && (
                    <td
                      class={best !== null && best === top ? 'right leading' : 'right'}
                      title={String(best)}
                    >
                      {written[place]}
                    </td>
                  )}
                  <td>
                    <StatusOfJob of={job} />
                  </td>
                  <td>{dateTime(job.created_at)}</td>
                  <td>
                    <bdi>{versions.join(', ') || '–'}</bdi>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroller>
      {metric !== undefined && <Picture {...{ jobs, order, bests, metric, isAlike }} />}
    </div>
  );
}

interface PictureProps {
  jobs: readonly ComparedJob[];
  order: readonly number[];
  bests: readonly (number | null)[];
  metric: string;
  isAlike: boolean;
}

/** In the order of their submission, at equal distances: jobs of one afternoon would lie on one another. */
function Picture({ jobs, order, bests, metric, isAlike }: PictureProps) {
  const series = useMemo(() => {
    const points = order.flatMap((place, at) => {
      const [best, one] = [bests[place] ?? null, jobs[place]];
      if (best === null || !one) return [];
      const { job } = one;
      const words = `${letter(place)}, ${titleOf(job)} of ${dateTime(job.created_at)}: ${metric} ${measured(best)}`;
      return [{ x: at + 1, y: best, words }];
    });
    return [{ name: metric, colour: 'var(--running)', points, joined: isAlike }];
  }, [jobs, metric, isAlike]);
  const points = series[0]?.points ?? [];
  return (
    <section class="plots" aria-label="The best of each job over time">
      <Plot
        key={metric}
        summary={`The best ${metric} of ${points.length} jobs in the order of their submission.`}
        name={`best-${metric}-over-time`}
        xLabel="jobs in the order of their submission"
        yLabel={metric}
        x={{
          ...axisFor(order.map((_, at) => at + 1)),
          ticks: order.map((_, at) => at + 1),
        }}
        xTick={(at) => letter(order[at - 1] ?? 0)}
        y={axisFor(points.map(({ y }) => y))}
        series={series}
      />
    </section>
  );
}
