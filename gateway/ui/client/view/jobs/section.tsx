import { filtersSet } from '../../model/job-filters.ts';
import { count } from '../../text/format.ts';
import { ChosenToCompare } from '../compare/choose.tsx';
import { useDashboard } from '../context.ts';
import { LoadFault, Section } from '../parts/section.tsx';
import { NameFilter, StatusFilter } from './filters.tsx';
import { MoreFilters } from './more-filters.tsx';
import { Pager } from './pager.tsx';
import { PinnedJob } from './pinned.tsx';
import { JobTable } from './table.tsx';

export function JobsSection() {
  const { jobs, address } = useDashboard();
  const place = address.place.value;
  const { status, name, before } = place;
  const loaded = jobs.jobs.value;
  return (
    <Section id="jobs" title="Jobs" tools={<NameFilter />} class="jobs-card">
      <StatusFilter />
      <MoreFilters />
      <ChosenToCompare />
      <LoadFault of={jobs.refresher} what="The jobs" />
      <PinnedJob />
      {loaded && loaded.length > 0 && <JobTable />}
      {loaded?.length === 0 && (
        <p class="empty">
          {status || name || before || filtersSet(place) > 0
            ? 'No job matches.'
            : 'No job has been submitted yet. Submit one with: jqctl submit FILE'}
        </p>
      )}
      <Pager />
      <p class="off-screen" role="status">
        {loaded ? `${count(loaded.length)} jobs shown` : 'Jobs are being loaded'}
      </p>
    </Section>
  );
}
