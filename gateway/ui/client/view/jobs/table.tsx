import { Fragment, type TargetedKeyboardEvent } from 'preact';
import { useDashboard } from '../context.ts';
import { JobPanel } from '../job/panel.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { JobHeadings, JobRow, WIDTH } from './row.tsx';

export function JobTable() {
  const { jobs, address, detail } = useDashboard();
  const openId = address.place.value.job;
  const open = detail.value;
  const leading = jobs.leading.value;
  return (
    <Scroller label="Table of jobs" class="table-frame">
      <table class="jobs">
        <caption class="off-screen">Jobs, each with a row of details that can be opened</caption>
        <JobHeadings sortable />
        <tbody onKeyDown={moveBetweenRows}>
          {jobs.rows.value.map((job, i) => (
            <Fragment key={job.id}>
              <JobRow job={job} open={job.id === openId} behind={leading > 0 && i === leading} />
              {job.id === openId && open && (
                <tr class="panel-row">
                  <td colSpan={WIDTH}>
                    <JobPanel detail={open} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

/** From the button that opens a row, the arrows lead to those of its neighbours. */
function moveBetweenRows(event: TargetedKeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = (event.target as HTMLElement).closest('.opener');
  if (step === undefined || !from) return;
  event.preventDefault();
  const openers = [...event.currentTarget.querySelectorAll<HTMLElement>('.opener')];
  openers[openers.indexOf(from as HTMLElement) + step]?.focus();
}
