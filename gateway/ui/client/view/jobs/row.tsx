import type { JobView } from '../../../../../machines/schema/views.ts';
import type { JobColumn } from '../../model/job-sort.ts';
import { count, measured, tail } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Id } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';
import { Status } from '../parts/status.tsx';
import { TaskBar } from '../parts/task-bar.tsx';
import { Ago } from '../parts/time.tsx';
import { JobActions } from './actions.tsx';

interface Column {
  key: string;
  label: string;
  sort?: JobColumn;
  class?: string;
}

const COLUMNS: readonly Column[] = [
  { key: 'status', label: 'Status', sort: 'status' },
  { key: 'name', label: 'Name', sort: 'name' },
  { key: 'id', label: 'Id', class: 'narrow-off' },
  { key: 'tasks', label: 'Tasks', sort: 'tasks' },
  { key: 'best', label: 'Best', sort: 'best', class: 'right phone-off' },
  { key: 'priority', label: 'Priority', sort: 'priority', class: 'right narrow-off' },
  { key: 'owner', label: 'Owner', class: 'wide-only' },
  { key: 'created', label: 'Submitted', sort: 'created', class: 'phone-off' },
  { key: 'updated', label: 'Changed', sort: 'updated', class: 'wide-only' },
  { key: 'actions', label: 'Actions', class: 'phone-off' },
];

export const WIDTH = COLUMNS.length;

export function JobHeadings({ sortable = false }: { sortable?: boolean }) {
  return (
    <thead>
      <tr>
        {COLUMNS.map((column) =>
          sortable && column.sort ? (
            <SortHeading key={column.key} label={column.label} sort={column.sort} class={column.class} />
          ) : (
            <th key={column.key} scope="col" class={column.class}>
              <span class={column.key === 'actions' ? 'off-screen' : ''}>{column.label}</span>
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

/** First press: ascending; then descending; then the server's order again. */
function SortHeading({
  label,
  sort,
  class: name,
}: {
  label: string;
  sort: JobColumn;
  class: string | undefined;
}) {
  const { address } = useDashboard();
  const chosen = address.place.value.sort;
  const order = chosen === sort ? 'ascending' : chosen === `-${sort}` ? 'descending' : 'none';
  const next = order === 'none' ? sort : order === 'ascending' ? (`-${sort}` as const) : '';
  return (
    <th scope="col" class={name} aria-sort={order}>
      <button
        type="button"
        class="sort"
        title="Sort this page of jobs"
        onClick={() => address.go({ sort: next })}
      >
        {label}
        <span class="arrow" aria-hidden="true" />
      </button>
    </th>
  );
}

export function JobRow({ job, open }: { job: JobView; open: boolean }) {
  const dashboard = useDashboard();
  const { aggregate } = job;
  const title = job.name || `unnamed ${tail(job.id)}`;
  return (
    <tr class={open ? 'job open' : 'job'} data-job={job.id}>
      <td>
        <Status of={job.status} />
      </td>
      <th scope="row">
        <button
          type="button"
          class="opener"
          aria-expanded={open}
          aria-label={`Details of ${title}`}
          onClick={() => dashboard.toggle(job.id)}
        >
          <Icon name="chevron" />
          <bdi class={job.name ? 'name' : 'name muted'} title={job.name ?? undefined}>
            {title}
          </bdi>
        </button>
      </th>
      <td class="narrow-off">
        <Id id={job.id} what="job" />
      </td>
      <td>
        <TaskBar of={aggregate} />
      </td>
      <td
        class="right phone-off"
        title={aggregate.best_metric === null ? undefined : String(aggregate.best_metric)}
      >
        {measured(aggregate.best_metric)}
      </td>
      <td class="right narrow-off">{count(job.priority)}</td>
      <td class="wide-only">
        <bdi class="owner">{job.owner ?? '–'}</bdi>
      </td>
      <td class="phone-off">
        <Ago ts={job.created_at} />
      </td>
      <td class="wide-only">
        <Ago ts={job.updated_at} />
      </td>
      <td class="phone-off">
        <JobActions job={job} />
      </td>
    </tr>
  );
}
