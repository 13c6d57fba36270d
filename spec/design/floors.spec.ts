import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ERRORS } from '../../gateway/contract/errors.ts';
import { ERROR_CODES } from '../../machines/protocol/errors.ts';
import { importsOf } from './imports.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FLOORS = ['machines', 'gateway', 'actors', 'bin'];
/** Lines beyond which a file can no longer be read in one sitting. */
const LONGEST = 350;

const sourcesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^(?!.*node_modules).*\.[jt]sx?$/.test(name))
    .map((name) => join(folder, name));
const sources = FLOORS.flatMap(sourcesIn);
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const floorOf = (file: string) => FLOORS.indexOf(file.split('/')[0] as string);

/** Each way from a file back to itself, found once. */
function circles(): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const follow = (file: string) => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(' > '));
    if (way.includes(file) || done.has(file)) return;
    way.push(file);
    for (const next of importsOf(root, file).filter((target) => floorOf(target) >= 0)) follow(next);
    way.pop();
    done.add(file);
  };
  sources.forEach(follow);
  return found;
}

describe('the design', () => {
  test('imports of a floor come only from itself and from floors below it', () => {
    const climbing = sources.flatMap((file) =>
      importsOf(root, file)
        .filter((target) => floorOf(target) > floorOf(file))
        .map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(climbing, []);
    assert.ok(sources.length > 100, 'the look at the sources found them');
  });

  test('no file imports itself by way of others, not even for a type', () => {
    assert.deepEqual(circles(), []);
  });

  test('every error of our own derives from AppError', () => {
    const others = sources.filter((file) => /\bextends Error\b/.test(read(file)));
    assert.deepEqual(others, ['machines/protocol/app-error.ts']);
  });

  test('all that turns share is held by the turn, the supervisor, its outages and the start; others name what they take', () => {
    const holding = sources.filter((file) =>
      /[:,] Core\b(?!\[)/.test(read(file).replace(/^import .*$/gm, '')),
    );
    const server = ['backend', 'outage', 'supervisor', 'turn/turn'];
    assert.deepEqual(
      holding.sort(),
      server.map((name) => `actors/server/${name}.ts`),
    );
  });

  test('machines are pure: no files, no sockets, no processes, no clock, no randomness', () => {
    const impure =
      /node:(fs|net|http|https|child_process|timers|os|worker_threads)|Date\.now|Math\.random|performance\.now|setTimeout|setInterval|randomUUID|randomBytes/;
    const found = sources.filter((file) => floorOf(file) === 0 && impure.test(read(file)));
    assert.deepEqual(found, []);
  });

  test(`no file of TypeScript or JavaScript is longer than ${LONGEST} lines, specifications and the bench not excepted`, () => {
    const long = [...sources, ...['spec', 'bench', 'examples'].flatMap(sourcesIn)].filter(
      (file) => read(file).split('\n').length > LONGEST,
    );
    assert.deepEqual(long, []);
  });

  test('every error code has a status and says when it is given', () => {
    assert.deepEqual(Object.keys(ERRORS).sort(), [...ERROR_CODES].sort());
    for (const { status, when } of Object.values(ERRORS)) assert.ok(status >= 400 && when.length > 10);
  });
});
