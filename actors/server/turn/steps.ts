import { setImmediate } from 'node:timers/promises';

/** Tasks that are handled without a break: some milliseconds. */
const AT_ONCE = 50;

/**
 * Does long work in steps, each up to a `yield`, between which the event loop serves others; the turn that it belongs
 * to stays one. Work that yields nothing is done at once.
 */
export function inSteps<Result>(work: Generator<void, Result>): Result | Promise<Result> {
  const first = work.next();
  return first.done ? first.value : goOn(work);
}

async function goOn<Result>(work: Generator<void, Result>): Promise<Result> {
  for (;;) {
    await setImmediate();
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Passes on what it is given, with a break after every few. */
export function* withBreaks<Item>(
  items: Iterable<Item>,
  act: (item: Item) => void,
  atOnce = AT_ONCE,
): Generator<void> {
  let done = 0;
  for (const item of items) {
    if (done > 0 && done % atOnce === 0) yield;
    act(item);
    done++;
  }
}
