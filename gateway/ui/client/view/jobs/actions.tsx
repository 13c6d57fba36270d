import { useRef } from 'preact/hooks';
import type { JobView } from '../../../../../machines/schema/views.ts';
import { titleOf } from '../../dashboard.ts';
import { canCancel, canRetry } from '../../model/status.ts';
import { CompareToggle } from '../compare/choose.tsx';
import { useDashboard } from '../context.ts';
import { Icon, type IconName } from '../parts/icon.tsx';

/** What may be done to a job: by its state, and by the rights of the credential. */
export function JobActions({ job }: { job: JobView }) {
  const dashboard = useDashboard();
  const { session } = dashboard;
  return (
    <span class="actions">
      {session.mayCancel.value && canCancel(job.status) && (
        <Action icon="stop" word="Cancel" job={job} act={() => dashboard.cancel(job)} />
      )}
      {session.maySubmit.value && canRetry(job) && (
        <Action icon="retry" word="Retry" job={job} act={() => dashboard.retry(job)} />
      )}
      <CompareToggle job={job} />
    </span>
  );
}

interface ActionProps {
  icon: IconName;
  word: string;
  job: JobView;
  act: () => Promise<void>;
}

function Action({ icon, word, job, act }: ActionProps) {
  const busy = useRef(false);
  const onClick = async ({ currentTarget }: { currentTarget: HTMLElement }) => {
    // Not disabled: a disabled button would lose the focus that a dialog has to give back.
    if (busy.current) return;
    busy.current = true;
    const row = currentTarget.closest('table')?.querySelector<HTMLElement>(`[data-job="${job.id}"] .opener`);
    await act();
    busy.current = false;
    // Once there is nothing more to cancel the button is gone, and the focus with it.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) row?.focus();
    });
  };
  return (
    <button type="button" class="quiet" aria-label={`${word} ${titleOf(job)}`} onClick={onClick}>
      <Icon name={icon} /> {word}
    </button>
  );
}
