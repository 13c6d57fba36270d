import { useDashboard } from '../context.ts';
import { JobPanel } from '../job/panel.tsx';
import { Fault } from '../parts/section.tsx';
import { JobHeadings, JobRow, WIDTH } from './row.tsx';

/** The open job when it is not on the page of jobs that is shown: it came by a link or from the feed. */
export function PinnedJob() {
  const { address, jobs, detail } = useDashboard();
  const id = address.place.value.job;
  const shown = jobs.jobs.value?.some((job) => job.id === id) ?? true;
  const open = detail.value;
  if (id === '' || shown || !open) return null;
  const job = open.job.value;
  const fault = open.refresher.fault.value;
  const close = () => address.go({ job: '', tab: '' });
  if (!job) {
    return fault === null ? null : (
      <div class="pinned">
        <Fault text={fault} />
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    );
  }
  return (
    <div class="pinned table-frame">
      <table class="jobs">
        <caption class="muted">Not on this page of the list</caption>
        <JobHeadings />
        <tbody>
          <JobRow job={job} open />
          <tr class="panel-row">
            <td colSpan={WIDTH}>
              <JobPanel detail={open} />
            </td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}
