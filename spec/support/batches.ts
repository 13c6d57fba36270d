import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Rooms whose specifications share processes: what they specify takes longer to load than most of them to run, and none
 * of them measures what belongs to the process as a whole, or leaves it changed.
 */
const SHARING = new Set('cli gateway machines retention security seeing store supervisor worker'.split(' '));
/** Runs the specifications of other files once more, with a process that was changed for them. */
const RERUNS = /^await (warmly|runOnTheOther)\(/m;
/** So many files a process runs at the most: one that hangs, or ends it, takes the others with it. */
const MOST = 12;

/**
 * The files in their order, each with those that share a process with it.
 * @param files absolute paths
 */
export function batchesOf(files: readonly string[]): string[][] {
  const batches: { room: string | null; members: string[] }[] = [];
  for (const file of files) {
    const [room, last] = [sharedRoomOf(file), batches.at(-1)];
    if (room !== null && room === last?.room && last.members.length < MOST) last.members.push(file);
    else batches.push({ room, members: [file] });
  }
  return batches.map(({ members }) => members);
}

/** Null for a file that has a process of its own. */
function sharedRoomOf(file: string): string | null {
  const room = /\/spec\/([\w-]+)\/[\w.-]+$/.exec(pathToFileURL(file).pathname)?.[1] ?? '';
  return SHARING.has(room) && existsSync(file) && !RERUNS.test(readFileSync(file, 'utf8')) ? room : null;
}

/** The source of a module that has all the specifications in it. */
export const moduleOf = (files: readonly string[]): string =>
  files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`).join('');
