/** Fails because something below it did, which is told by itself. */
const OF_OTHERS = 'subtestsFailed';

/**
 * A reporter of node:test that writes what was left out and what failed, one JSON document a line: `Outcome` in
 * `outcome.ts`. The runner's own count knows nothing of groups that were left out as a whole, and its lines of failures
 * stand between those of everything that passed. Plain JavaScript, since the runner itself loads it.
 * @param {AsyncIterable<import('node:test').TestEvent>} source
 */
export default async function* outcome(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const mark = data.skip || data.todo;
    const error = data.details?.error;
    const { name, file } = data;
    if (mark) yield line({ what: 'left out', name, file, reason: typeof mark === 'string' ? mark : '' });
    else if (type === 'test:fail' && error?.failureType !== OF_OTHERS)
      yield line({
        what: 'failed',
        name,
        file,
        reason: String(error?.cause?.message ?? error?.message ?? ''),
      });
  }
}

const line = (outcome) => `${JSON.stringify(outcome)}\n`;
