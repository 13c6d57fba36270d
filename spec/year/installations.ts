import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { must } from '../history/history.ts';
import { install } from '../support/installation.ts';
import { Program } from '../support/program.ts';
import { dated } from './year-server.ts';

/** Behind all numbers that migrations have. */
const FIRST = 9000;

/** What later versions bring: a column more, and every job is written once. */
const migration = (number: number) =>
  `ALTER TABLE jobs ADD COLUMN later_${number} TEXT; UPDATE jobs SET later_${number} = id;\n`;

/**
 * A version of the programs that does not exist yet, installed in a folder of its own: with the migrations of all
 * later versions up to this one.
 */
export async function laterVersion(folder: string, number: number): Promise<string> {
  const home = join(folder, `version-${number}`);
  await install(home);
  for (let i = 1; i <= number; i++) {
    const file = join(home, 'actors/server/store/schema', `${FIRST + i}-later-version.sql`);
    await writeFile(file, migration(i));
  }
  const path = join(home, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...manifest, version: `9.${number}.0` }));
  return home;
}

/** That the program of before does not touch the store of a later one. */
export async function refuses(home: string, state: string, at: number): Promise<void> {
  const program = new Program(
    process.execPath,
    [join(home, 'bin/jq-server'), '--state', state, '--port', '0'],
    dated(at),
  );
  const { code } = await program.ended;
  must(
    code !== 0 && /newer than this program/.test(program.stderr),
    `a downgrade was not refused: ${program.stderr}`,
  );
}
