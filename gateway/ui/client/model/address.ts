import { signal } from '@preact/signals';
import { MACHINE_NAMES, type MachineName } from '../../../../machines/charts/names.ts';
import { TYPE_ENDINGS, type TypeEnding } from '../../../../machines/schema/job-types.ts';
import { JOB_COLUMNS, type JobColumn } from './job-sort.ts';
import { JOB_STATUSES, type JobStatus } from './status.ts';

export const TABS = ['ranking', 'plots', 'tasks', 'errors', 'events', 'request'] as const;
export type Tab = (typeof TABS)[number];

export const VIEWS = ['workers', 'feed', 'statecharts', 'compare'] as const;

/** Where the reader is: all of it is in the page's address, but for the trail, which the history keeps. */
export interface Place {
  /** Empty: the jobs, with workers and feed beside them where there is room. */
  view: (typeof VIEWS)[number] | '';
  /** The statechart that is shown; empty for the first. */
  machine: MachineName | '';
  /** The job, task or worker whose state is lit in it. */
  actor: string;
  /** The job that the lit task is of. */
  of: string;
  status: JobStatus | '';
  name: string;
  /** Who submitted the job; `me` is who reads. */
  owner: string;
  /** Its type, or its library. */
  kind: string;
  /** Whether it runs pipelines or predicts; empty: either. */
  does: TypeEnding | '';
  /** Tags that it has all of, with commas between them. */
  tag: string;
  /** The first and the last day on which it may have been submitted, such as `2026-11-29`. */
  since: string;
  until: string;
  /** A column, with `-` before it for descending; empty: newest first, as the server lists. */
  sort: `${'' | '-'}${JobColumn}` | '';
  /** Cursor of the page of jobs: a `created_at`; empty for the newest page. */
  before: string;
  /** The job whose row is open. */
  job: string;
  tab: Tab | '';
  /** The task of it whose details are open. */
  task: string;
  /** The jobs that are compared, or chosen for it: their ids with commas between them. */
  compare: string;
  /** The metric by which they are. */
  metric: string;
  /** The cursors of the pages that led here, oldest first. */
  trail: string[];
}

const HOME: Place = {
  view: '',
  machine: '',
  actor: '',
  of: '',
  status: '',
  name: '',
  owner: '',
  kind: '',
  does: '',
  tag: '',
  since: '',
  until: '',
  sort: '',
  before: '',
  job: '',
  tab: '',
  task: '',
  compare: '',
  metric: '',
  trail: [],
};
const KEYS = [
  'view',
  'machine',
  'actor',
  'of',
  'status',
  'name',
  'owner',
  'kind',
  'does',
  'tag',
  'since',
  'until',
  'sort',
  'before',
  'job',
  'tab',
  'task',
  'compare',
  'metric',
] as const satisfies readonly (keyof Place)[];

/** Reads and writes the page's address, so that a view can be linked to and Back works. */
export class Address {
  readonly place = signal<Place>(placeOf(location.search, history.state));

  start(): void {
    window.addEventListener('popstate', this.#moved);
  }

  stop(): void {
    window.removeEventListener('popstate', this.#moved);
  }

  /** @param way `replace` for what changes with every key stroke */
  go(change: Partial<Place>, way: 'push' | 'replace' = 'push'): void {
    // A task is one of its job.
    const place = { ...this.place.peek(), ...('job' in change ? { task: '' } : {}), ...change };
    const state = { trail: place.trail };
    if (way === 'push') history.pushState(state, '', hrefOf(place));
    else history.replaceState(state, '', hrefOf(place));
    this.place.value = place;
  }

  readonly #moved = () => {
    this.place.value = placeOf(location.search, history.state);
  };
}

function hrefOf(place: Place): string {
  const query = new URLSearchParams();
  for (const key of KEYS) if (place[key]) query.set(key, place[key]);
  return `${location.pathname}${query.size > 0 ? `?${query}` : ''}`;
}

/** What an address says; words that mean nothing are passed over. */
export function placeOf(search: string, state: unknown): Place {
  const query = new URLSearchParams(search);
  const read = (key: string) => query.get(key) ?? '';
  const known = <T extends string>(words: readonly T[], word: string): T | '' =>
    words.find((one) => one === word) ?? '';
  const [, sign = '', column = ''] = /^(-?)(.*)$/.exec(read('sort')) ?? [];
  const sortable = known(JOB_COLUMNS, column);
  const trail = (state as { trail?: unknown } | null)?.trail;
  return {
    ...HOME,
    view: known(VIEWS, read('view')),
    machine: known(MACHINE_NAMES, read('machine')),
    actor: read('actor'),
    of: read('of'),
    status: known(JOB_STATUSES, read('status')),
    name: read('name'),
    owner: read('owner'),
    kind: read('kind'),
    does: known(TYPE_ENDINGS, read('does')),
    tag: read('tag'),
    since: day(read('since')),
    until: day(read('until')),
    sort: sortable && (`${sign}${sortable}` as Place['sort']),
    before: Number.isFinite(Number(read('before'))) ? read('before') : '',
    job: read('job'),
    tab: known(TABS, read('tab')),
    task: read('task'),
    compare: read('compare'),
    metric: read('metric'),
    trail: Array.isArray(trail) ? trail.filter((one) => typeof one === 'string') : [],
  };
}

/** A day as addresses have it; empty for anything else. */
const day = (text: string): string =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '';
