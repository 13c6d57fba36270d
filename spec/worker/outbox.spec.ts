import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { attemptPaths } from '../../actors/worker/attempt/paths.ts';
import { recoverLeftovers } from '../../actors/worker/attempt/recover-leftovers.ts';
import { Outbox, type OutboxEntry } from '../../actors/worker/delivery/outbox.ts';
import { findOutputs } from '../../actors/worker/delivery/outputs.ts';
import { pack } from '../../actors/worker/delivery/pack.ts';
import { exists, temporaryFolder } from './folder.ts';
import { silent } from './quick.ts';

const entry = (task_id: string, attempt = 1): OutboxEntry => ({
  ref: { task_id, attempt, worker_id: 'worker_1' },
  outcome: { verb: 'complete', result: { status: 'succeeded', metrics: { best_rmse: 0.25 } } },
  files: [{ role: 'model', path: 'output/best_model.json', artifact_id: 'art_1' }],
});

describe('the outbox', () => {
  it('gives back to a later process exactly what was saved', async (t) => {
    const state = await temporaryFolder(t);
    await new Outbox(state).save(entry('task_1', 2));
    await new Outbox(state).save(entry('task_2'));
    const { entries, broken } = await new Outbox(state).load();
    assert.deepEqual(JSON.parse(JSON.stringify(entries)), [entry('task_1', 2), entry('task_2')]);
    assert.deepEqual(broken, []);
  });

  it('forgets what the server has acknowledged, and only that', async (t) => {
    const outbox = new Outbox(await temporaryFolder(t));
    await outbox.save(entry('task_1'));
    await outbox.save(entry('task_1', 2));
    await outbox.remove(entry('task_1').ref);
    await outbox.remove(entry('task_9').ref);
    const attempts = (await outbox.load()).entries.map(({ ref }) => ref.attempt);
    assert.deepEqual(attempts, [2]);
  });

  it('puts a file aside that it cannot read, and goes on', async (t) => {
    const state = await temporaryFolder(t);
    const outbox = new Outbox(state);
    await outbox.save(entry('task_1'));
    for (const [name, text] of [
      ['a.json', '{'],
      ['b.json', '{"ref":{}}'],
      ['c.json.draft', '{"ref"'],
    ]) {
      await writeFile(join(state, 'outbox', name as string), text as string);
    }
    const { entries, broken } = await outbox.load();
    assert.equal(entries.length, 1);
    assert.equal(broken.length, 2);
    const left = (await readdir(join(state, 'outbox'))).sort();
    assert.deepEqual(left, ['a.json.broken', 'b.json.broken', 'task_1.1.json']);
  });
});

describe('the files of an attempt', () => {
  /** An attempt's directory with a log. */
  async function attempt(t: TestContext) {
    const paths = attemptPaths(await temporaryFolder(t), { task_id: 'task_1', attempt: 1 });
    for (const folder of [paths.output, paths.workspace]) await mkdir(folder, { recursive: true });
    await writeFile(paths.log, 'log');
    return paths;
  }
  const LOG = { role: 'logs', path: 'run.log' };

  it('are the log, all of the output directory, and the packed workspace', async (t) => {
    const paths = await attempt(t);
    const empty = await pack(
      paths,
      { outputs: [], workspace: true, small: false, emptyLog: false },
      assert.fail,
    );
    assert.deepEqual(empty, [LOG], 'an archive of nothing');
    for (const name of [
      'best_model.pkl',
      'best_model.json',
      'scores.csv',
      'predictions.csv',
      'curves.json',
      'plots/a.png',
      'plots/curves.json',
      'plots/deep/b.png',
    ]) {
      await mkdir(dirname(join(paths.output, name)), { recursive: true });
      await writeFile(join(paths.output, name), name);
    }
    await writeFile(join(paths.workspace, 'notes.txt'), 'kept');
    const { files, leftOut } = await findOutputs(paths.output, true);
    assert.deepEqual(leftOut, []);
    const all = await pack(
      paths,
      { outputs: files, workspace: true, small: false, emptyLog: false },
      assert.fail,
    );
    assert.deepEqual(all, [
      LOG,
      { role: 'model', path: 'output/best_model.json', filename: 'best_model.json' },
      { role: 'output', path: 'output/best_model.pkl', filename: 'best_model.pkl' },
      { role: 'curves', path: 'output/curves.json', filename: 'curves.json' },
      { role: 'predictions', path: 'output/predictions.csv', filename: 'predictions.csv' },
      { role: 'output', path: 'output/scores.csv', filename: 'scores.csv' },
      { role: 'output', path: 'output/plots/a.png', filename: 'plots__a.png' },
      { role: 'output', path: 'output/plots/curves.json', filename: 'plots__curves.json' },
      { role: 'output', path: 'output/plots/deep/b.png', filename: 'plots__deep__b.png' },
      { role: 'workspace', path: 'workspace.zip' },
    ]);
  });

  it('are without the model where the job does not ask for one', async (t) => {
    const paths = await attempt(t);
    for (const name of ['best_model.pkl', 'best_model.json', 'scores.csv']) {
      await writeFile(join(paths.output, name), name);
    }
    const { files } = await findOutputs(paths.output, false);
    assert.deepEqual(
      files.map(({ filename, role }) => [filename, role]),
      [['scores.csv', 'output']],
    );
  });

  it('are bounded in number, and the log says what was left out', async (t) => {
    const { output } = await attempt(t);
    let deep = output;
    for (let level = 0; level < 18; level++) deep = join(deep, 'd');
    await mkdir(deep, { recursive: true });
    await Promise.all(Array.from({ length: 1005 }, (_, i) => writeFile(join(output, `f${i}`), '')));
    await symlink('/etc/passwd', join(output, 'link'));
    execFileSync('mkfifo', [join(output, 'pipe')]);
    const { files, leftOut } = await findOutputs(output, true);
    assert.equal(files.length, 1000);
    assert.match(
      leftOut.join('\n'),
      /5 files beyond the first 1000\n.*: 2 that are no plain.*\n.*: 1 folders more than 16/,
    );
  });

  it('leave out what cannot be collected', async (t) => {
    const paths = await attempt(t);
    await rm(paths.workspace, { recursive: true });
    const faults: string[] = [];
    const gone = { role: 'output', path: join(paths.output, 'gone'), filename: 'gone' } as const;
    const files = await pack(
      paths,
      { outputs: [gone], workspace: true, small: false, emptyLog: false },
      (what) => faults.push(what),
    );
    assert.deepEqual(files, [LOG]);
    assert.deepEqual(faults, ['gone', 'workspace']);
  });
});

describe('the state directory at start-up', () => {
  it('is cleared of what an earlier process left, but not of what belongs to a saved result', async (t) => {
    const state = await temporaryFolder(t);
    const [saved, left] = [
      attemptPaths(state, entry('task_1').ref),
      attemptPaths(state, entry('task_2').ref),
    ];
    const earlier = attemptPaths(state, entry('task_1', 0).ref);
    for (const { output } of [saved, left, earlier]) await mkdir(output, { recursive: true });
    await recoverLeftovers(state, [entry('task_1')], silent);
    assert.equal(await exists(saved.output), true);
    assert.equal(await exists(earlier.root), false);
    assert.deepEqual(await readdir(join(state, 'tasks')), ['task_1']);
  });
});
