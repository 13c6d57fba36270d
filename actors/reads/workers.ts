import { setImmediate } from 'node:timers/promises';
import type { WorkerView } from '../../machines/schema/views.ts';
import type { Prepared } from '../store/prepared.ts';
import type { Live } from '../supervisor/live.ts';
import { type Fillers, filled, LONG, markValue, partsOf } from './holes.ts';
import { PAGE_BYTES } from './pages.ts';

/** What a worker declared, each a column of its row. */
const DECLARED = ['labels', 'capabilities', 'version'] as const;

/** All registered workers, as pieces of JSON. They are in memory; what is long of them comes from the store. */
export async function* workerList(db: Prepared, live: Live): AsyncGenerator<string> {
  const filler = (value: string) => (id: string) => partsOf(db, { table: 'workers', value, key: 'id' }, id);
  const fillers: Fillers = Object.fromEntries(DECLARED.map((column) => [column, filler(column)]));
  yield '[';
  yield* filled(pages(live), fillers);
  yield ']';
}

async function* pages(live: Live): AsyncGenerator<string> {
  let page = '';
  let before = '';
  for (const id of live.workerIds()) {
    const view = live.worker(id);
    if (!view) continue;
    page += before + JSON.stringify(shortened(view));
    before = ',';
    if (page.length < PAGE_BYTES) continue;
    yield page;
    page = '';
    // They come from memory: nothing else lets others be served in between.
    await setImmediate();
  }
  yield page;
}

function shortened(view: WorkerView): object {
  const long = DECLARED.filter((name) => JSON.stringify(view[name]).length > LONG);
  return { ...view, ...Object.fromEntries(long.map((name) => [name, markValue(name, view.id)])) };
}
