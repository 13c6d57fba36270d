import type { ComponentChildren } from 'preact';
import { keptWords } from '../../../../../machines/job/keep.ts';
import { selectionLines } from '../../../../../machines/ranking/selected.ts';
import { rankMetricOf } from '../../../../../machines/ranking/table.ts';
import { hasEnded } from '../../../../../machines/schema/statuses.ts';
import type { ArtifactView, JobView } from '../../../../../machines/schema/views.ts';
import { titleOf } from '../../dashboard.ts';
import { dateTime, duration, measured, tail } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { JobActions } from '../jobs/actions.tsx';
import { JobLink } from '../jobs/link.tsx';
import { Tags } from '../jobs/tags.tsx';
import { Artifact } from '../parts/artifact.tsx';
import { Id } from '../parts/copy.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { Ago, Elapsed, Remaining } from '../parts/time.tsx';
import { ShowInStatechart } from '../statecharts/link.tsx';
import { RunAgain } from './run-again.tsx';
import { JobWarnings } from './warnings.tsx';

interface Props {
  job: JobView;
  bestModel: ArtifactView | null;
  again: readonly JobView[];
  hasOrigin: boolean;
}

/** The job in a few words; on a phone also what its row has no room for. */
export function JobFacts({ job, bestModel, again, hasOrigin }: Props) {
  const { session } = useDashboard();
  const kept = keptWords(job, dateTime);
  return (
    <>
      <div class="facts-line">
        <dl class="facts">
          <Fact name="Job">
            <Id id={job.id} what="job" whole />
          </Fact>
          {job.name !== null && (
            <Fact name="Name" class="small-only">
              <bdi>{job.name}</bdi>
            </Fact>
          )}
          {job.tags && job.tags.length > 0 && (
            <Fact name="Tags">
              <Tags of={job.tags} />
            </Fact>
          )}
          <Fact name="Type">{job.type}</Fact>
          <Fact name="Owner">
            <bdi>{job.owner ?? '–'}</bdi>
          </Fact>
          <Fact name="Priority">{job.priority}</Fact>
          {job.aggregate.best_metric !== null && (
            <Fact name="Best">
              <bdi>{rankMetricOf(job.aggregate)}</bdi>{' '}
              <span title={String(job.aggregate.best_metric)}>{measured(job.aggregate.best_metric)}</span>
            </Fact>
          )}
          {job.phase && <Fact name="Phase">{job.phase}</Fact>}
          {selectionLines(job.aggregate).map((line, i) => (
            <Fact key={line} name={i === 0 ? 'Selected' : ''}>
              <bdi>{line}</bdi>
            </Fact>
          ))}
          {job.aggregate.num_reused > 0 && (
            <Fact name="Reused">
              {job.aggregate.num_reused} of {job.aggregate.num_tasks} tasks
            </Fact>
          )}
          {job.resubmitted_from && (
            <Fact name="Again from">
              {hasOrigin ? (
                <JobLink id={job.resubmitted_from} />
              ) : (
                <span title={job.resubmitted_from}>{tail(job.resubmitted_from)}, not on this server</span>
              )}
            </Fact>
          )}
          {again.length > 0 && (
            <Fact name="Run again">
              <span class="job-links">
                {again.map(({ id }) => (
                  <JobLink key={id} id={id} />
                ))}
              </span>
            </Fact>
          )}
          <Fact name="Submitted">
            {dateTime(job.created_at)}, <Ago ts={job.created_at} />
          </Fact>
          {kept !== null && <Fact name="Kept">{kept}</Fact>}
          {job.estimate && (
            <Fact name="Expected">
              <Remaining of={job.estimate} />
            </Fact>
          )}
          {hasEnded(job.status) ? (
            <Fact name="Took">
              <span title={dateTime(job.updated_at)}>{duration(job.updated_at - job.created_at)}</span>
            </Fact>
          ) : (
            <Fact name="Elapsed">
              <Elapsed since={job.created_at} />
            </Fact>
          )}
          <Fact name="Changed">
            <Ago ts={job.updated_at} />
          </Fact>
        </dl>
        <ShowInStatechart about={{ kind: 'job', id: job.id, jobId: job.id }} name={titleOf(job)} />
        {bestModel && <Artifact artifact={bestModel} label="Best model" of="the job" />}
        {session.maySubmit.value && <RunAgain job={job} />}
        <span class="small-only">
          <JobActions job={job} />
        </span>
      </div>
      {job.note && (
        <Scroller label="Note" class="note">
          <bdi>{job.note}</bdi>
        </Scroller>
      )}
      <JobWarnings job={job} />
    </>
  );
}

interface FactProps {
  name: string;
  children: ComponentChildren;
  class?: string;
}

function Fact({ name, children, class: among }: FactProps) {
  return (
    <div class={among}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
