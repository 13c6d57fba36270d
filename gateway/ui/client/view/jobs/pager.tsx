import { useDashboard } from '../context.ts';

/** Pages by cursor: there is no count of pages, and no page costs more than the first. */
export function Pager() {
  const { jobs, address } = useDashboard();
  const { before, trail, sort } = address.place.value;
  const hasOlder = jobs.hasOlder.value;
  if (before === '' && !hasOlder) return null;
  const page = trail.length + 1;
  return (
    <nav class="pager" aria-label="Pages of jobs">
      <button type="button" disabled={before === ''} onClick={() => address.go({ before: '', trail: [] })}>
        Newest
      </button>
      <button type="button" disabled={trail.length === 0} onClick={() => jobs.newer()}>
        Newer
      </button>
      <button type="button" disabled={!hasOlder} onClick={() => jobs.older()}>
        Older
      </button>
      <span class="muted">
        {trail.length > 0 || before === '' ? `Page ${page}` : 'An older page'}
        {sort && ', sorted within this page'}
      </span>
    </nav>
  );
}
