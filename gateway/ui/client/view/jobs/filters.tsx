import { useEffect, useRef } from 'preact/hooks';
import { filtersSet } from '../../model/job-filters.ts';
import { JOB_STATUSES } from '../../model/status.ts';
import { useDashboard } from '../context.ts';
import { Choices } from '../parts/choices.tsx';
import { Icon } from '../parts/icon.tsx';

/** Milliseconds without a key stroke after which the filter applies. */
export const TYPING_MS = 200;
export const FIRST_PAGE = { before: '', trail: [] as string[] };

export function StatusFilter() {
  const { address, cluster } = useDashboard();
  const place = address.place.value;
  const chosen = place.status;
  // They are known of all jobs, and would be wrong of those that another filter leaves.
  const isNarrowed = place.name !== '' || filtersSet(place) > 0;
  const counts = isNarrowed ? undefined : cluster.stats.value?.jobs_by_status;
  const total = counts && Object.values(counts).reduce((sum, n) => sum + n, 0);
  return (
    <Choices
      label="Filter jobs by status"
      options={(['', ...JOB_STATUSES] as const).map((status) => ({
        value: status,
        label: status || 'all',
        count: counts && ((status ? counts[status] : total) ?? 0),
      }))}
      chosen={chosen}
      onChoose={(status) => address.go({ status, ...FIRST_PAGE })}
    />
  );
}

export function NameFilter() {
  const { address } = useDashboard();
  const { name } = address.place.value;
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    // The address changed by itself (Back, a link); what is being typed stays.
    if (field.current && document.activeElement !== field.current) field.current.value = name;
  }, [name]);
  useSlashKey(field);
  const typed = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => address.go({ name: field.current?.value ?? '', ...FIRST_PAGE }, 'replace'),
      TYPING_MS,
    );
  };
  return (
    <label class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label="Filter jobs by name, or by what is shown of an id"
        aria-keyshortcuts="/"
        placeholder="name or id   ( / )"
        defaultValue={name}
        onInput={typed}
      />
    </label>
  );
}

/** The slash moves the focus to the filter, unless something is being typed or asked. */
function useSlashKey(field: { current: HTMLInputElement | null }): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const busy = (event.target as HTMLElement).closest?.('input, select, textarea, dialog');
      if (event.key !== '/' || busy || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}
