import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Outcome } from '../support/heard.ts';
import { installation, runIn } from '../support/installation.ts';

const DOOR = 'actors/worker/runners/mljs/entry.mjs';

/** The name of the current bundle. */
const currentOf = (home: string) => readFile(join(home, '.bundle/current'), 'utf8');

/** Changes a text in a source, to one that is as long; the times of the file stay as well. */
async function edit(home: string, file: string, from: string, to: string): Promise<void> {
  const path = join(home, file);
  const [before, { atime, mtime }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  assert.ok(before.includes(from) && from.length === to.length);
  await writeFile(path, before.replace(from, to));
  await utimes(path, atime, mtime);
}

/** What cannot be made into a bundle, and is no folder of bundles either. */
const noRoomForBundles = (home: string) => writeFile(join(home, '.bundle'), '');

const help = (home: string) => runIn(home, 'bin/jqctl', '--help');

function isHelp({ stdout, stderr, code }: Outcome, line = 'submit a job'): void {
  assert.deepEqual([stderr, code], ['', 0]);
  assert.match(stdout, new RegExp(`jqctl submit +${line}\n`));
}

describe('the bundle that the programs start from', () => {
  it('is made by the first start, serves the following ones, and needs no loader of sources', async (t) => {
    const home = await installation(t);
    isHelp(await help(home));
    const made = await currentOf(home);
    await rm(join(home, 'node_modules/tsx'));
    isHelp(await help(home));
    const version = await runIn(home, DOOR, '--version');
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/, version.stderr);
    assert.equal(await currentOf(home), made);
  });

  it('is made by an installation, once', async (t) => {
    const home = await installation(t);
    const first = await runIn(home, 'bin/start/install.js');
    assert.deepEqual(first, { stdout: '', stderr: '', code: 0, signal: null });
    const made = await currentOf(home);
    assert.equal((await runIn(home, 'bin/start/install.js')).code, 0);
    isHelp(await help(home));
    assert.equal(await currentOf(home), made);
  });

  it('is not used once a source has changed, neither by a program nor by the runner of a task', async (t) => {
    const home = await installation(t);
    isHelp(await help(home));
    const made = await currentOf(home);
    await edit(home, 'actors/worker/runners/mljs/main.ts', 'is missing', 'IS MISSING');
    const told = await runIn(home, DOOR);
    assert.match(told.stderr, /^Error: --task-file IS MISSING\n$/);
    assert.equal(told.code, 2);
    assert.equal(await currentOf(home), made, 'a task makes no bundle');
    await edit(home, 'bin/commands/list.ts', 'submit a job', 'SUBMIT A JOB');
    isHelp(await help(home), 'SUBMIT A JOB');
    assert.notEqual(await currentOf(home), made);
  });

  it('is not used once a package has changed', async (t) => {
    const home = await installation(t, { copied: ['fastest-levenshtein'] });
    const unknown = () => runIn(home, 'bin/jqctl', 'neverheardof');
    assert.doesNotMatch((await unknown()).stderr, /did you mean/);
    const made = await currentOf(home);
    await appendFile(
      join(home, 'node_modules/fastest-levenshtein/mod.js'),
      '\nexports.distance = () => 0;\n',
    );
    assert.match((await unknown()).stderr, /did you mean/);
    const { findBundle } = await import(pathToFileURL(join(home, 'bin/start/find.js')).href);
    assert.equal(findBundle('programs'), join(home, '.bundle', await currentOf(home)));
    assert.notEqual(await currentOf(home), made);
    const manifest = 'node_modules/fastest-levenshtein/package.json';
    const { version } = JSON.parse(await readFile(join(home, manifest), 'utf8'));
    await edit(home, manifest, `"version": "${version}"`, `"version": "${version.replace(/\d/, 'x')}"`);
    assert.equal(findBundle('programs'), undefined);
  });

  it('is complete whichever of several programs starts first at the same time', async (t) => {
    const home = await installation(t);
    for (const said of await Promise.all([1, 2, 3].map(() => help(home)))) isHelp(said);
    const made = await currentOf(home);
    isHelp(await help(home));
    assert.equal(await currentOf(home), made);
  });

  it('leaves only the last few of its predecessors', async (t) => {
    const home = await installation(t);
    for (const older of ['1', '2', '3', '4']) await mkdir(join(home, '.bundle', older), { recursive: true });
    assert.equal((await runIn(home, 'bin/start/install.js')).code, 0);
    assert.deepEqual(
      (await readdir(join(home, '.bundle'))).sort(),
      ['3', '4', 'current', await currentOf(home)].sort(),
    );
  });

  const DAMAGE: Record<string, (home: string, folder: string) => Promise<unknown>> = {
    'whose first file is cut off': (_, folder) => truncate(join(folder, 'programs.js'), 20),
    'with a file of other content': async (_, folder) => {
      const name = (await readdir(folder)).find((file) => /^program-.*\.js$/.test(file)) as string;
      const { size } = await stat(join(folder, name));
      await writeFile(join(folder, name), '{'.repeat(size));
    },
    'that lacks a file': async (_, folder) => {
      for (const name of await readdir(folder)) if (/^chunk-.*\.js$/.test(name)) await rm(join(folder, name));
    },
    'whose list of parts is cut off': (_, folder) => truncate(join(folder, 'programs.json'), 1000),
    'that is not there': (_, folder) => rm(folder, { recursive: true }),
    'whose name is empty': (home) => truncate(join(home, '.bundle/current')),
    'whose name is another': (home) => writeFile(join(home, '.bundle/current'), '../../\0'),
  };
  it('may be damaged in any way: this is noticed, and it is made anew, or else the sources run', async (t) => {
    const home = await installation(t);
    assert.equal((await runIn(home, 'bin/start/install.js')).code, 0);
    const [made, bundles, whole] = [await currentOf(home), join(home, '.bundle'), join(home, 'whole')];
    await cp(bundles, whole, { recursive: true, preserveTimestamps: true });
    const { findBundle } = await import(pathToFileURL(join(home, 'bin/start/find.js')).href);
    for (const [how, damage] of Object.entries(DAMAGE)) {
      assert.equal(findBundle('programs'), join(bundles, made));
      await damage(home, join(bundles, made));
      assert.equal(findBundle('programs'), undefined, how);
      await rm(bundles, { recursive: true });
      await cp(whole, bundles, { recursive: true, preserveTimestamps: true });
    }
    await truncate(join(bundles, made, 'programs.js'), 20);
    isHelp(await help(home));
    const anew = await currentOf(home);
    assert.notEqual(anew, made);
    await rm(join(home, 'node_modules/esbuild'));
    await truncate(join(bundles, anew, 'programs.js'), 20);
    isHelp(await help(home));
  });

  for (const [where, spoil] of Object.entries({
    'there is no bundler': (home: string) => rm(join(home, 'node_modules/esbuild')),
    'nothing can be written': noRoomForBundles,
  })) {
    it(`is not needed where ${where}: the sources run, and an installation says so`, async (t) => {
      const home = await installation(t);
      await spoil(home);
      const { stdout, stderr, code } = await runIn(home, 'bin/start/install.js');
      assert.deepEqual([stderr, code], ['', 0]);
      assert.match(stdout, /^the programs will start from their sources: .+\n$/);
      isHelp(await help(home));
      assert.equal((await runIn(home, DOOR)).code, 2);
      assert.equal(existsSync(join(home, '.bundle/current')), false);
    });
  }

  it('prints and answers what the sources do', async (t) => {
    const [bundled, plain] = [await installation(t), await installation(t)];
    await noRoomForBundles(plain);
    const lines: [file: string, ...args: string[]][] = [
      ['bin/jqctl', '--help'],
      ['bin/jqctl', 'sumbit'],
      ['bin/jqctl', 'jobs', '--server', 'http://127.0.0.1:1'],
      ['bin/jq-server', '--port', 'many'],
      ['bin/jq-worker', '--help'],
      [DOOR, '--task-file', '/no/such/file', '--output-dir', '/', '--result-file', '/no/such/folder/result'],
    ];
    for (const line of lines) {
      const [one, other] = await Promise.all([bundled, plain].map((home) => runIn(home, ...line)));
      assert.deepEqual(one, other, line.join(' '));
    }
    assert.ok(existsSync(join(bundled, '.bundle/current')));
  });
});
