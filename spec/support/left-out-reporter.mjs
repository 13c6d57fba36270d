/**
 * A reporter of node:test that writes what was left out, one JSON document a line: `LeftOut` in `left-out.ts`. The
 * runner's own count knows nothing of groups that were left out as a whole. Plain JavaScript, since the runner
 * itself loads it.
 * @param {AsyncIterable<import('node:test').TestEvent>} source
 */
export default async function* leftOut(source) {
  for await (const { type, data } of source) {
    const mark = data?.skip || data?.todo;
    if ((type !== 'test:pass' && type !== 'test:fail') || !mark) continue;
    const reason = typeof mark === 'string' ? mark : '';
    yield `${JSON.stringify({ name: data.name, file: data.file, reason })}\n`;
  }
}
