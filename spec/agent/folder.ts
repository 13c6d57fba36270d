import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

const ends = new WeakMap<TestContext, (() => unknown)[]>();

/** Registers what ends something at the end of a test. What began last ends first, as its folder is an older one. */
export function atEnd(t: TestContext, end: () => unknown): void {
  const known = ends.get(t);
  if (known) return void known.push(end);
  const all = [end];
  ends.set(t, all);
  t.after(async () => {
    const faults: unknown[] = [];
    for (const one of all.reverse())
      await Promise.resolve()
        .then(one)
        .catch((fault: unknown) => faults.push(fault));
    if (faults.length > 0) throw faults[0];
  });
}

/** A folder of the test's own, removed at its end. (Apart from the server's support, which loads all of it.) */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'jq-agent-'));
  atEnd(t, () => rm(path, { recursive: true, force: true }));
  return path;
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
