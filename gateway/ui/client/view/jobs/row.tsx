import { rankMetricOf } from '../../../../../machines/ranking/table.ts';
import type { JobView } from '../../../../../machines/schema/views.ts';
import type { JobColumn } from '../../model/job-sort.ts';
import { count, counted, measured, tail } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Id } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';
import { StatusOfJob } from '../parts/status.tsx';
import { TaskBar } from '../parts/task-bar.tsx';
import { Ago } from '../parts/time.tsx';
import { JobActions } from './actions.tsx';
import { Tags } from './tags.tsx';

interface Column {
  key: string;
  label: string;
  sort?: JobColumn;
  class?: string;
}

const COLUMNS: readonly Column[] = [
  { key: 'status', label: 'Status', sort: 'status' },
  { key: 'name', label: 'Name', sort: 'name' },
  { key: 'id', label: 'Id' },
  { key: 'tasks', label: 'Tasks', sort: 'tasks' },
  { key: 'best', label: 'Best', sort: 'best', class: 'right' },
  { key: 'priority', label: 'Priority', sort: 'priority', class: 'right' },
  { key: 'owner', label: 'Owner' },
  { key: 'created', label: 'Submitted', sort: 'created' },
  { key: 'updated', label: 'Changed', sort: 'updated' },
  { key: 'actions', label: 'Actions' },
];

export const WIDTH = COLUMNS.length;

/** The style sheet knows a column by its name. */
const classOf = ({ key, class: name = '' }: Column): string => `of-${key} ${name}`;

export function JobHeadings({ sortable = false }: { sortable?: boolean }) {
  return (
    <thead>
      <tr>
        {COLUMNS.map((column) =>
          sortable && column.sort ? (
            <SortHeading key={column.key} label={column.label} sort={column.sort} class={classOf(column)} />
          ) : (
            <th key={column.key} scope="col" class={classOf(column)}>
              <span class={column.key === 'actions' ? 'off-screen' : ''}>{column.label}</span>
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

/** First press: ascending; then descending; then the server's order again. */
function SortHeading({ label, sort, class: name }: { label: string; sort: JobColumn; class: string }) {
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

/** `behind`: the first of those behind the running ones. */
export function JobRow({ job, open, behind = false }: { job: JobView; open: boolean; behind?: boolean }) {
  const dashboard = useDashboard();
  const { aggregate } = job;
  const title = job.name || `unnamed ${tail(job.id)}`;
  return (
    <tr class={`job${open ? ' open' : ''}${behind ? ' behind-leaders' : ''}`} data-job={job.id}>
      <td class="of-status">
        <StatusOfJob of={job} />
      </td>
      <th scope="row" class="of-name">
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
          {job.warnings.length > 0 && (
            <span class="flag" title={job.warnings.join('\n')}>
              <Icon name="warning" />
              <span class="off-screen">{counted(job.warnings.length, 'warning')}</span>
            </span>
          )}
        </button>
        {job.tags && job.tags.length > 0 && <Tags of={job.tags} />}
      </th>
      <td class="of-id">
        <Id id={job.id} what="job" />
      </td>
      <td class="of-tasks">
        <TaskBar of={aggregate} />
      </td>
      <td
        class="of-best right"
        title={aggregate.best_metric === null ? undefined : String(aggregate.best_metric)}
      >
        {aggregate.best_metric !== null && <bdi class="muted">{rankMetricOf(aggregate)} </bdi>}
        {measured(aggregate.best_metric)}
      </td>
      <td class="of-priority right">{count(job.priority)}</td>
      <td class="of-owner">
        <bdi class="owner">{job.owner ?? '–'}</bdi>
      </td>
      <td class="of-created">
        <Ago ts={job.created_at} />
      </td>
      <td class="of-updated">
        <Ago ts={job.updated_at} />
      </td>
      <td class="of-actions">
        <JobActions job={job} />
      </td>
    </tr>
  );
}
