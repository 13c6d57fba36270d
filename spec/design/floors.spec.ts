import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ERRORS } from '../../gateway/contract/errors.ts';
import { ERROR_CODES } from '../../machines/protocol/errors.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FLOORS = ['machines', 'gateway', 'actors', 'bin'];
/** Lines beyond which a file can no longer be read in one sitting. */
const LONGEST = 350;

const sources = FLOORS.flatMap((floor) =>
  readdirSync(join(root, floor), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(floor, name)),
);
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const importsOf = (file: string) =>
  [...read(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string);
const floorOf = (file: string) => FLOORS.indexOf(file.split('/')[0] as string);

describe('the design', () => {
  test('a floor imports only from itself and from floors below it', () => {
    const climbing = sources.flatMap((file) =>
      importsOf(file)
        .filter((path) => path.startsWith('.'))
        .map((path) => relative(root, resolve(root, dirname(file), path)))
        .filter((target) => floorOf(target) > floorOf(file))
        .map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(climbing, []);
    assert.ok(sources.length > 100, 'the look at the sources found them');
  });

  test('machines are pure: no files, no sockets, no processes, no clock, no randomness', () => {
    const impure =
      /node:(fs|net|http|https|child_process|timers|os|worker_threads)|Date\.now|Math\.random|performance\.now|setTimeout|setInterval|randomUUID|randomBytes/;
    const found = sources.filter((file) => floorOf(file) === 0 && impure.test(read(file)));
    assert.deepEqual(found, []);
  });

  test(`no source file is longer than ${LONGEST} lines`, () => {
    const long = sources.filter((file) => read(file).split('\n').length > LONGEST);
    assert.deepEqual(long, []);
  });

  test('every error code has a status and says when it is given', () => {
    assert.deepEqual(Object.keys(ERRORS).sort(), [...ERROR_CODES].sort());
    for (const { status, when } of Object.values(ERRORS)) assert.ok(status >= 400 && when.length > 10);
  });
});
