import { RawJson } from '../../../machines/json/raw.ts';
import type { Changes } from './changes.ts';
import type { EventRow, NotificationRow, TaskRow, VariantsRow } from './rows.ts';
import { LIST_NAMES, type ListName } from './turn-sql.ts';

/** What one statement takes at most: making its documents takes some ten milliseconds, in which nobody is served. */
const MOST = { rows: 2000, characters: 1024 * 1024 };

/** Characters of a row that may be many. */
const HEAVY: Partial<Record<ListName, (row: never) => number>> = {
  job_requests: ({ request }: { request: string }) => request.length,
  variants: ({ variants }: VariantsRow) => variants.length,
  plain_new_tasks: taskLength,
  plain_changed_tasks: taskLength,
  new_tasks: taskLength,
  changed_tasks: taskLength,
  events: ({ message, data }: EventRow) => message.length + dataLength(data),
  notifications: ({ body }: NotificationRow) => body.length,
};

function taskLength({ result, error }: TaskRow): number {
  return (result?.length ?? 0) + (error?.length ?? 0);
}

function dataLength(data: EventRow['data']): number {
  if (data instanceof RawJson) return data.text.length;
  return typeof data.traceback === 'string' ? data.traceback.length : 0;
}

/** Whether one statement may take all of it. */
export function fitsOneStatement(changes: Changes): boolean {
  let rows = 0;
  let characters = 0;
  for (const name of LIST_NAMES) {
    const list = changes[name];
    const heavy = HEAVY[name];
    rows += list.length;
    if (heavy) for (const row of list) characters += heavy(row as never);
  }
  return rows <= MOST.rows && characters <= MOST.characters && changes.further.length === 0;
}

/** The same changes in parts that a statement may take each, made one after the other as they are asked for. */
export function* partsOf(changes: Changes): Generator<Changes> {
  let part = noChanges();
  let rows = 0;
  let characters = 0;
  for (const name of LIST_NAMES) {
    const heavy = HEAVY[name];
    for (const row of changes[name]) {
      (part[name] as unknown[]).push(row);
      rows++;
      characters += heavy ? heavy(row as never) : 0;
      if (rows < MOST.rows && characters < MOST.characters) continue;
      yield part;
      part = noChanges();
      rows = 0;
      characters = 0;
    }
  }
  if (rows > 0) yield part;
}

export const noChanges = (): Changes => ({
  ...(Object.fromEntries(LIST_NAMES.map((name) => [name, []])) as unknown as Changes),
  further: [],
});
