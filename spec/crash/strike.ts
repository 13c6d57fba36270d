import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../support/program.ts';
import type { Seeded } from '../support/seeded.ts';
import type { LaunchFaults } from '../support/server-program.ts';
import { lookInto, storeOf } from '../support/test-store.ts';
import type { Line } from './line.ts';
import { flood, upload } from './load.ts';
import type { Slices } from './slices.ts';

/**
 * Where a server is killed: at a random moment under load; before a commit, or between a commit and the answers;
 * while an artifact comes in, or between its bytes and its record; while the log of the store is written into it;
 * while it starts; between two slices of a job that it cancels or retries.
 */
export const AIMS = [
  'after commit',
  'upload',
  'checkpoint',
  'moment',
  'start-up',
  'before commit',
  'record',
  'slices',
] as const;
export type Aim = (typeof AIMS)[number];

/** The faults that a server has to be started with for an aim; undefined: none, it is `bin/jq-server`. */
export function faultsFor(aim: Aim, chance: Seeded): LaunchFaults | undefined {
  const commit = chance.whole(5, 150);
  if (aim === 'after commit') return { dieAfterCommit: commit };
  if (aim === 'before commit') return { dieBeforeCommit: commit };
  return undefined;
}

interface Target {
  server: Program;
  state: string;
  /** For the files that clients send. */
  scratch: string;
  line: Line;
  slices: Slices;
  chance: Seeded;
  /** Of this round alone. */
  label: string;
}

/** Kills the server at its aim and resolves when it is dead. */
export async function strike(aim: Aim, target: Target): Promise<void> {
  const { server, chance } = target;
  switch (aim) {
    case 'after commit':
    case 'before commit':
      // It does that itself; the requests of the others make the commits.
      await server.ended;
      return;
    case 'upload':
      return atChange('uploads', chance.whole(2, 8), target, sendFiles);
    case 'record':
      // An upload begins, its mark is made, it is moved to its place, and once it is recorded the mark goes.
      return atChange('uploads', chance.whole(2, 5), target, sendFiles, 'rename');
    case 'checkpoint':
      return storeOf(target.state) === undefined
        ? atChange('store.sqlite', chance.whole(1, 40), target, writeMuch)
        : atCheckpoint(target, writeMuch);
    case 'slices':
      return target.slices.strike(server, chance, `${target.label}-slices`);
    case 'start-up':
    case 'moment':
      await delay(chance.whole(0, 800));
      await server.kill();
  }

  function writeMuch(going: () => boolean): Promise<void> {
    return flood(target.line, `${target.label}-flood`, going);
  }

  async function sendFiles(going: () => boolean): Promise<void> {
    while (going()) await upload(target.line, join(target.scratch, `${target.label}-file`), 1_500_000);
  }
}

/** Kills while PostgreSQL writes its log into its tables, and `busy` writes more. */
async function atCheckpoint(
  { server, state, chance }: Target,
  busy: (going: () => boolean) => Promise<void>,
): Promise<void> {
  const going = busy(() => !server.over);
  const written = lookInto(state, (db) => db.all('CHECKPOINT'));
  await delay(chance.whole(0, 100));
  await server.kill();
  await Promise.all([going, written]);
}

/** Kills when something below the state directory has changed some times, while `busy` makes it change. */
async function atChange(
  name: string,
  count: number,
  { server, state }: Target,
  busy: (going: () => boolean) => Promise<void>,
  kind?: 'rename',
): Promise<void> {
  let left = count;
  const watcher: FSWatcher = watch(join(state, name), (type) => {
    if (kind !== undefined && type !== kind) return;
    if (--left === 0) server.child.kill('SIGKILL');
  });
  try {
    const going = busy(() => !server.over);
    await server.ended;
    await going;
  } finally {
    watcher.close();
  }
}
