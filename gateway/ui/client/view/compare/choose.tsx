import type { JobView } from '../../../../../machines/schema/views.ts';
import { titleOf } from '../../dashboard.ts';
import { idsIn, MOST_COMPARED } from '../../model/comparison.ts';
import { counted } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Icon } from '../parts/icon.tsx';

/** Chooses a job to be compared with others, or leaves it out again. */
export function CompareToggle({ job }: { job: JobView }) {
  const { address } = useDashboard();
  const ids = idsIn(address.place.value.compare);
  const isChosen = ids.includes(job.id);
  if (!isChosen && ids.length >= MOST_COMPARED) return null;
  const toggle = () => {
    const next = isChosen ? ids.filter((id) => id !== job.id) : [...ids, job.id];
    address.go({ compare: next.join(',') }, 'replace');
  };
  return (
    <button
      type="button"
      class="quiet compare-toggle"
      aria-pressed={isChosen}
      aria-label={`Compare ${titleOf(job)}`}
      title={isChosen ? 'Do not compare this job' : 'Compare this job with others'}
      onClick={toggle}
    >
      <Icon name="compare" />
    </button>
  );
}

/** What has been chosen, and the way to compare it. */
export function ChosenToCompare() {
  const { address } = useDashboard();
  const ids = idsIn(address.place.value.compare);
  if (ids.length === 0) return null;
  return (
    <p class="chosen" role="status">
      {counted(ids.length, 'job')} chosen{ids.length < 2 && '; choose another one to compare them'}
      <button
        type="button"
        class="primary"
        disabled={ids.length < 2}
        onClick={() => address.go({ view: 'compare' })}
      >
        Compare
      </button>
      <button type="button" onClick={() => address.go({ compare: '' }, 'replace')}>
        Choose none
      </button>
    </p>
  );
}
