import type { About } from '../../model/statecharts/actor.ts';
import { useDashboard } from '../context.ts';
import { Icon } from '../parts/icon.tsx';

/** Leads to the statechart in which a job's, task's or worker's state is lit. */
export function ShowInStatechart({
  about,
  name,
  bare = false,
}: {
  about: About;
  name: string;
  bare?: boolean;
}) {
  const { address } = useDashboard();
  const { kind, id, jobId } = about;
  const show = () => {
    address.go({ view: 'statecharts', machine: kind, actor: id, of: kind === 'task' ? jobId : '' });
    scrollTo(0, 0);
  };
  return (
    <button
      type="button"
      class={bare ? 'bare chart-link' : ''}
      title="Show in the statechart"
      aria-label={`Statechart of ${kind} ${name}`}
      onClick={show}
    >
      <Icon name="chart" />
      {!bare && 'Statechart'}
    </button>
  );
}
