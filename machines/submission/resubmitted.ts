import { compose, members, RawJson } from '../json/raw.ts';
import type { JobView } from '../schema/views.ts';

/* A stored specification as one to submit anew, as text: numbers stay as they were written. */

/**
 * Under its idempotency key the server would answer with the old job, and what that one came from says nothing of this.
 */
export function withoutKey(request: string): string {
  return changed(
    request,
    new Map([
      ['idempotency_key', null],
      ['resubmitted_from', null],
    ]),
  );
}

/** The specification of a job with what that is called by now, what is said of it, and which job it is. */
export function asNow(request: string, { id, name, note = null, tags = [] }: JobView): string {
  return changed(
    request,
    new Map([
      ['resubmitted_from', JSON.stringify(id)],
      ['name', name === null ? null : JSON.stringify(name)],
      ['note', note === null ? null : JSON.stringify(note)],
      ['tags', tags.length === 0 ? null : JSON.stringify(tags)],
    ]),
  );
}

/** The object with these members set to other texts, or without those that are null. */
export function changed(text: string, changes: ReadonlyMap<string, string | null>): string {
  const parts = new Map<string, string | null>([...members(text), ...changes]);
  const kept = [...parts].filter((part): part is [string, string] => part[1] !== null);
  return compose(Object.fromEntries(kept.map(([key, value]) => [key, new RawJson(value)])));
}
