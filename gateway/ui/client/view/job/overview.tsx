import { useMemo } from 'preact/hooks';
import { rankMetricOf } from '../../../../../machines/ranking/table.ts';
import { axisFor } from '../../../../../machines/results/axis.ts';
import {
  failedTasks,
  modeOf,
  type Placed,
  placed,
  runTimes,
} from '../../../../../machines/results/overview.ts';
import { shortNames } from '../../../../../machines/results/short-names.ts';
import type { JobView, TaskView } from '../../../../../machines/schema/views.ts';
import type { JobDetail } from '../../model/job-detail.ts';
import { counted, duration, measured } from '../../text/format.ts';
import { Plot, type Point, type Series } from '../parts/plot.tsx';
import { heightFor } from '../parts/plot-frame.tsx';
import { HeatMap } from './heat-map.tsx';

/** Tasks that ended without a number are marked beside the scale, by a cross. */
const FAILED = 'failed';

/** The results of a job as pictures: its metric by pipeline, how long they ran, and pipelines by datasets. */
export function Overview({ job, detail }: { job: JobView; detail: JobDetail }) {
  const tasks = detail.measured.value;
  const metric = rankMetricOf(job.aggregate);
  const entries = useMemo(() => placed(job.aggregate), [job]);
  const failed = useMemo(() => failedTasks(tasks ?? []), [tasks]);
  if (!tasks) return <p class="empty">Loading…</p>;
  const { num_succeeded, num_failed } = job.aggregate;
  if (num_succeeded + num_failed === 0) return <p class="empty">No task has ended yet.</p>;
  return (
    <>
      <div class="plots-row">
        <ByPipeline entries={entries} metric={metric} failed={failed} failures={num_failed} />
        <RunTimes tasks={tasks} all={job.aggregate.num_tasks} />
      </div>
      <HeatMap entries={entries} metric={metric} failed={failed} />
    </>
  );
}

/** Marks with names; of more tasks every second, third and so on has one, which is said. */
const NAMES = 60;
const LONGEST_NAME = 24;

type PointOfTask = Point & { pipeline: string | null; dataset: string | null };

interface ByPipelineProps {
  entries: readonly Placed[];
  metric: string;
  /** As far as they are known, of so many. */
  failed: readonly Pick<Placed, 'pipeline' | 'dataset'>[];
  failures: number;
}

const nameOf = (of: Pick<Placed, 'pipeline' | 'dataset'> | undefined, several: boolean): string =>
  of ? `${of.pipeline}${several ? ` on ${of.dataset}` : ''}` : 'a task';

/** The best on top, each with its name; what failed at the foot and beside the scale, by which it has no place. */
function ByPipeline({ entries, metric, failed, failures }: ByPipelineProps) {
  const x = axisFor(entries.map(({ value }) => value));
  const several = new Set([...entries, ...failed].map(({ dataset }) => dataset)).size > 1;
  const count = entries.length + failures;
  const series = useMemo((): Series<PointOfTask>[] => {
    const points = entries.map(({ pipeline, dataset, value }, i) => ({
      ...{ x: value, y: i + 1, pipeline, dataset },
      words: `${i + 1}. ${pipeline} on ${dataset}: ${metric} ${measured(value)}`,
    }));
    const marks = Array.from({ length: failures }, (_, i) => ({
      ...{ x: null, y: entries.length + i + 1 },
      ...{ pipeline: failed[i]?.pipeline ?? null, dataset: failed[i]?.dataset ?? null },
      words: `${nameOf(failed[i], true)} failed; see Errors`,
    }));
    return [
      { name: metric, colour: 'var(--running)', points },
      ...(failures > 0 ? [{ name: FAILED, colour: 'var(--failed)', points: marks, crosses: true }] : []),
    ];
  }, [entries, failed, failures]);
  const names = useMemo(
    () =>
      shortNames(
        Array.from({ length: count }, (_, i) => nameOf(entries[i] ?? failed[i - entries.length], several)),
        LONGEST_NAME,
      ),
    [entries, failed, count],
  );
  if (count === 0) return null;
  const every = Math.ceil(count / NAMES);
  const ticks = Array.from({ length: Math.ceil(count / every) }, (_, i) => i * every + 1);
  return (
    <section class="plots" aria-label="Metric by pipeline">
      <Plot<PointOfTask>
        summary={`${metric} of ${counted(entries.length, 'task')}, ${modeOf(entries, metric) === 'min' ? 'smallest' : 'largest'} first; ${failures} failed.`}
        name={`${metric}-by-pipeline`}
        xLabel={metric}
        yLabel={`pipeline${several ? ' and dataset' : ''}, the best on top`}
        x={x}
        y={{ from: count + 0.5, to: 0.5, ticks }}
        yTick={(place) => names[place - 1] ?? ''}
        apart={failures > 0 ? FAILED : undefined}
        height={heightFor(ticks.length)}
        along="y"
        series={series}
        table={{
          head: ['place', 'pipeline', 'dataset', 'status', metric],
          row: ({ x, y, pipeline, dataset }) => [
            ...[x === null ? null : y, pipeline, dataset],
            ...[x === null ? FAILED : 'succeeded', x],
          ],
        }}
      />
      {every > 1 && (
        <p class="muted">
          Of {counted(count, 'task')} one in {every} is named here; the pointer and the arrow keys name each.
        </p>
      )}
    </section>
  );
}

function RunTimes({ tasks, all }: { tasks: readonly TaskView[]; all: number }) {
  const times = useMemo(() => runTimes(tasks), [tasks]);
  const series = useMemo((): Series[] => {
    const points = (isFailed: boolean) =>
      times.flatMap(({ name, seconds, failed }, i) =>
        failed === isFailed ? [{ x: i + 1, y: seconds, words: `${name}: ${duration(seconds)}` }] : [],
      );
    const failed = points(true);
    return [
      { name: 'succeeded', colour: 'var(--succeeded)', points: points(false) },
      ...(failed.length > 0
        ? [{ name: FAILED, colour: 'var(--failed)', points: failed, crosses: true }]
        : []),
    ];
  }, [times]);
  if (times.length === 0) return null;
  return (
    <section class="plots" aria-label="Run times">
      <Plot
        summary={`Run times of ${counted(times.length, 'task')}, the longest first.`}
        name="run-times"
        xLabel={
          tasks.length < all
            ? `the first ${tasks.length} of ${all} tasks, the longest first`
            : 'tasks, the longest first'
        }
        yLabel="seconds"
        x={axisFor([1, times.length], Math.min(8, times.length))}
        y={axisFor([0, ...times.map(({ seconds }) => seconds)])}
        series={series}
      />
    </section>
  );
}
