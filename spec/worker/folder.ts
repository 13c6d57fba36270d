import { closeSync, constants, lstatSync, openSync, readdirSync } from 'node:fs';
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

/**
 * Frees whoever waits for the other end of a pipe below a folder, until the test has ended: a specification of what
 * must not wait has to fail, rather than never to end.
 */
export function freePipes(t: TestContext, folder: string): void {
  atEnd(t, () => {
    freeBelow(folder);
    // Until all has ended, somebody may come to wait there; it keeps nobody from ending.
    setInterval(() => freeBelow(folder), 100).unref();
  });
}

function freeBelow(folder: string): void {
  try {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const found = lstatSync(path);
      if (found.isDirectory()) freeBelow(path);
      // To open a pipe for both ends waits for nobody.
      else if (found.isFIFO()) closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    }
  } catch {
    // It is being removed.
  }
}
