import { useEffect, useRef } from 'preact/hooks';
import { isPrediction } from '../../../../../machines/schema/job-types.ts';
import type { JobView } from '../../../../../machines/schema/views.ts';
import type { Tab } from '../../model/address.ts';
import type { JobDetail } from '../../model/job-detail.ts';
import { count } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { NamedAfter } from '../parts/file-name.tsx';
import { LoadFault } from '../parts/section.tsx';
import { type TabItem, Tabs } from '../parts/tabs.tsx';
import { Errors } from './errors.tsx';
import { JobEvents } from './events.tsx';
import { JobFacts } from './facts.tsx';
import { Overview } from './overview.tsx';
import { Ranking } from './ranking.tsx';
import { Request } from './request.tsx';
import { Tasks } from './tasks.tsx';

/** What an open row shows of its job. */
export function JobPanel({ detail }: { detail: JobDetail }) {
  const { address } = useDashboard();
  const job = detail.job.value;
  const tab = detail.tab.value;
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (panel.current) bringIntoSight(panel.current);
    // Again when it has grown: a page that is too short cannot be scrolled.
  }, [detail, job === null]);
  return (
    <div class="panel" ref={panel}>
      <LoadFault of={detail.refresher} what="The job" />
      {job && (
        <>
          <JobFacts
            job={job}
            bestModel={detail.bestModel.value}
            again={detail.again.value}
            hasOrigin={detail.hasOrigin.value}
          />
          <Tabs
            label="About this job"
            items={tabsOf(job)}
            chosen={tab}
            onChoose={(next) => address.go({ tab: next }, 'replace')}
          >
            <NamedAfter name={job.name ?? job.id}>
              <Chosen tab={tab} job={job} detail={detail} />
            </NamedAfter>
          </Tabs>
        </>
      )}
    </div>
  );
}

/** Pixels of a panel that have to be seen for its job to be in sight. */
const LEAST_SEEN = 160;

/** Whoever came by a link, or from the feed, finds the job at the top; whoever pressed its row is there already. */
function bringIntoSight(panel: HTMLElement): void {
  const row = panel.closest('tr')?.previousElementSibling;
  if (!row) return;
  const { top, bottom } = row.getBoundingClientRect();
  const bar = Number.parseFloat(getComputedStyle(row).scrollMarginTop);
  if (top < bar || bottom + LEAST_SEEN > innerHeight) row.scrollIntoView();
}

function Chosen({ tab, job, detail }: { tab: Tab; job: JobView; detail: JobDetail }) {
  switch (tab) {
    case 'ranking':
      return <Ranking job={job} detail={detail} />;
    case 'plots':
      return <Overview job={job} detail={detail} />;
    case 'tasks':
      return <Tasks job={job} detail={detail} />;
    case 'errors':
      return <Errors job={job} detail={detail} />;
    case 'events':
      return <JobEvents key={job.id} jobId={job.id} />;
    case 'request':
      return <Request detail={detail} />;
  }
}

function tabsOf({ type, aggregate, error }: JobView): TabItem<Tab>[] {
  const errors = Object.keys(aggregate.errors).length + (error === null ? 0 : 1);
  return [
    {
      name: 'ranking',
      label: isPrediction(type) ? 'Predictions' : 'Ranking',
      count: count(aggregate.ranking.length),
    },
    { name: 'plots', label: 'Plots' },
    { name: 'tasks', label: 'Tasks', count: count(aggregate.num_tasks) },
    { name: 'errors', label: 'Errors', count: count(errors) },
    { name: 'events', label: 'Events' },
    { name: 'request', label: 'Specification' },
  ];
}
