import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { requires } from '../support/requires.ts';
import { said, Warming } from './warm-support.ts';

const MIB = 2 ** 20;

/** What a task found under a name before it kept a word there, so many times. */
const keep = async (warming: Warming, word: string, times = 1, coldly = false) =>
  said<[boolean, string | null]>(await warming.run(['keeps', 'name', word, `${times}`], { coldly }));

const folderOf = ({ folder }: Warming) => {
  const [runner = ''] = readdirSync(join(folder, 'warm-kept'));
  return join(folder, 'warm-kept', runner);
};

const filesOf = (warming: Warming) => {
  const folder = folderOf(warming);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
};

describe('what a task keeps for others', requires('python3', 'proc'), () => {
  it('is there for those that come after it from the same host, and for no task that starts cold', async (t) => {
    const warming = await Warming.start(t);
    assert.deepEqual(await keep(warming, 'first'), [true, null]);
    assert.deepEqual(await keep(warming, 'second', 1, true), [false, null]);
    assert.deepEqual(await keep(warming, 'third'), [true, 'first']);
    assert.deepEqual(await keep(warming, 'fourth'), [true, 'third']);
  });

  it('is removed with its host, and after a crash by the next worker program', async (t) => {
    const warming = await Warming.start(t);
    await keep(warming, 'first');
    const left = join(folderOf(warming), 'left');
    assert.equal(filesOf(warming).length, 1);
    await warming.warm.close();
    assert.deepEqual(filesOf(warming), []);
    await mkdir(left);
    warming.anew();
    assert.deepEqual(await keep(warming, 'second'), [true, null]);
    assert.equal(existsSync(left), false);
  });

  it('is not taken when it is damaged or cut off', async (t) => {
    const warming = await Warming.start(t);
    await keep(warming, 'first');
    const [file = ''] = filesOf(warming);
    const whole = await readFile(file);
    for (const broken of [Buffer.concat([whole, whole]), whole.subarray(0, -1), Buffer.alloc(0)]) {
      await writeFile(file, broken);
      assert.deepEqual(await keep(warming, 'large', 16 * MIB), [true, null]);
    }
  });

  it('is at most 16 MiB, and as nothing where more is asked for', async (t) => {
    const warming = await Warming.start(t);
    await keep(warming, 'x', 16 * MIB + 1);
    assert.deepEqual(await keep(warming, 'x', 16 * MIB), [true, null]);
    assert.equal((await keep(warming, 'x', 0))[1]?.length, 16 * MIB);
  });
});
