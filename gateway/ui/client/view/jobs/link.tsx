import { tail } from '../../text/format.ts';
import { useDashboard } from '../context.ts';

/** Opens another job. */
export function JobLink({ id }: { id: string }) {
  const { address } = useDashboard();
  return (
    <a
      href={`?job=${encodeURIComponent(id)}`}
      class="job-link"
      title={id}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        address.go({ job: id, tab: '' });
      }}
    >
      {tail(id)}
    </a>
  );
}
