import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Outbox, type OutboxEntry } from '../../actors/agent/delivery/outbox.ts';
import { pack } from '../../actors/agent/delivery/pack.ts';
import { runPaths } from '../../actors/agent/paths.ts';
import { tidy } from '../../actors/agent/tidy.ts';
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
  it('are the log, the exported model where one is wanted, and the packed workspace', async (t) => {
    const paths = runPaths(await temporaryFolder(t), { task_id: 'task_1', attempt: 1 });
    for (const folder of [paths.output, paths.workspace]) await mkdir(folder, { recursive: true });
    await writeFile(paths.log, 'log');
    await writeFile(join(paths.output, 'best_model.pkl'), 'model');
    await writeFile(join(paths.output, 'other.txt'), 'not this');
    const empty = await pack(paths, { model: false, workspace: true }, assert.fail);
    assert.deepEqual(empty, [{ role: 'logs', path: 'run.log' }], 'an archive of nothing');
    await writeFile(join(paths.workspace, 'notes.txt'), 'kept');
    const all = await pack(paths, { model: true, workspace: true }, assert.fail);
    assert.deepEqual(all, [
      { role: 'logs', path: 'run.log' },
      { role: 'model', path: 'output/best_model.pkl' },
      { role: 'workspace', path: 'workspace.zip' },
    ]);
    const logOnly = await pack(paths, { model: false, workspace: false }, assert.fail);
    assert.deepEqual(logOnly, [{ role: 'logs', path: 'run.log' }]);
  });

  it('go without the workspace when that cannot be packed', async (t) => {
    const paths = runPaths(await temporaryFolder(t), { task_id: 'task_1', attempt: 1 });
    await mkdir(paths.root, { recursive: true });
    await writeFile(paths.log, 'log');
    const faults: Error[] = [];
    const files = await pack(paths, { model: true, workspace: true }, (fault) => faults.push(fault));
    assert.deepEqual(files, [{ role: 'logs', path: 'run.log' }]);
    assert.equal(faults.length, 1);
  });
});

describe('the state directory at start-up', () => {
  it('loses what an earlier process left, but not what belongs to a saved result', async (t) => {
    const state = await temporaryFolder(t);
    const [saved, left] = [runPaths(state, entry('task_1').ref), runPaths(state, entry('task_2').ref)];
    const earlier = runPaths(state, entry('task_1', 0).ref);
    for (const { output } of [saved, left, earlier]) await mkdir(output, { recursive: true });
    await tidy(state, [entry('task_1')], silent);
    assert.equal(await exists(saved.output), true);
    assert.equal(await exists(earlier.root), false);
    assert.deepEqual(await readdir(join(state, 'tasks')), ['task_1']);
  });
});
