import type { Query } from '../api/http.ts';
import type { Place } from './address.ts';

/** What of the place narrows the list, beside status and words. */
export const FILTERS = ['owner', 'kind', 'does', 'tag', 'since', 'until'] as const;
type Filters = Pick<Place, (typeof FILTERS)[number]>;

/** How many of them say something. */
export const filtersSet = (place: Filters): number => FILTERS.filter((name) => place[name] !== '').length;

/** What the server is asked; days are those of the reader. */
export function filterQuery({ owner, kind, does, tag, since, until }: Filters): Query {
  return {
    owner: owner.trim(),
    [kind.includes('.') ? 'type' : 'library']: kind.trim(),
    kind: does,
    tag: tag.trim(),
    since: since && String(startOf(since, 0)),
    until: until && String(startOf(until, 1)),
  };
}

/** When a day begins, or so many days later, in seconds since the epoch. */
function startOf(day: string, later: number): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + later).getTime() / 1000;
}
