import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openWriter } from '../../actors/server/store/open.ts';
import { Whereabouts } from '../../actors/server/store/whereabouts.ts';
import { JOB } from '../support/job.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

/** A server on a store of files, and jobs that it has acknowledged. */
async function working(t: TestContext) {
  const state = join(await temporaryDirectory(t), 'state');
  const begin = async () => {
    const server = await startServerProgram({ state, store: `sqlite:${state}` });
    t.after(() => server.kill());
    return server;
  };
  const accepted: string[] = [];
  const server = await begin();
  const submit = async (url = server.url) => {
    const answer = await fetch(`${url}/v1/jobs`, { method: 'POST', body: JSON.stringify(JOB) });
    const { id, code } = (await answer.json()) as { id: string; code?: string };
    if (answer.status === 200) accepted.push(id);
    return code ?? 'accepted';
  };
  const listed = async (url: string) => {
    const answer = await fetch(`${url}/v1/jobs?limit=1000`);
    return ((await answer.json()) as { id: string }[]).map(({ id }) => id).sort();
  };
  await submit();
  const path = join(state, 'store.sqlite');
  return { state, path, server, begin, accepted, submit, listed };
}

/** Submits until that is refused. */
const untilRefused = (submit: () => Promise<string>) =>
  until('a refusal', async () => (await submit()) === 'store_unavailable');

describe('a file of the store that somebody removes while the server runs', () => {
  const logs: [string, string[]][] = [
    ['the log', ['-wal']],
    ['the index of the log', ['-shm']],
  ];
  for (const [what, files] of logs) {
    it(`loses nothing that was acknowledged: ${what}`, async (t) => {
      const { path, server, begin, accepted, submit, listed } = await working(t);
      for (const file of files) rmSync(path + file);
      await untilRefused(submit);
      assert.deepEqual(await listed(server.url), accepted.sort(), 'it still reads');
      assert.match(
        server.stderr,
        /somebody has removed or replaced .*what was accepted is in \S+store\.sqlite: start/,
      );
      await server.kill();
      const next = await begin();
      assert.deepEqual(await listed(next.url), accepted.sort());
      assert.equal(await submit(next.url), 'accepted');
    });
  }

  it('loses nothing either where it is the database: a copy is beside it', async (t) => {
    const { path, server, begin, accepted, submit, listed } = await working(t);
    for (const file of ['', '-wal', '-shm']) rmSync(path + file);
    await untilRefused(submit);
    assert.match(server.stderr, /what was accepted is in \S+store\.sqlite\.saved: put back/);
    await server.kill();
    assert.equal(existsSync(path), false);
    renameSync(`${path}.saved`, path);
    const next = await begin();
    assert.deepEqual(await listed(next.url), accepted.sort());
  });
});

describe('a store over which somebody copies another one while the server runs', () => {
  it('is written no more, and is saved beside it', async (t) => {
    const { path, server, begin, accepted, submit, listed } = await working(t);
    copyFileSync(path, `${path}.old`);
    renameSync(`${path}.old`, path);
    await untilRefused(submit);
    await server.kill();
    for (const file of ['-wal', '-shm']) rmSync(path + file, { force: true });
    renameSync(`${path}.saved`, path);
    const next = await begin();
    assert.deepEqual(await listed(next.url), accepted.sort());
  });
});

describe('a state directory that is moved away for a while', () => {
  it('takes nothing meanwhile, and goes on by itself once it is back', async (t) => {
    const { state, server, begin, accepted, submit, listed } = await working(t);
    renameSync(state, `${state}.away`);
    await untilRefused(submit);
    renameSync(`${state}.away`, state);
    await until('it to go on', async () => (await submit()) === 'accepted');
    assert.deepEqual(await listed(server.url), accepted.sort());
    await server.kill();
    assert.deepEqual(await listed((await begin()).url), accepted.sort());
  });
});

describe('a file of the store whose number the file system changes', () => {
  it('is still the one that the server has open', requires('proc'), async (t) => {
    const path = join(await temporaryDirectory(t), 'store.sqlite');
    const writer = await openWriter(path);
    t.after(() => writer.close());
    let number = 0;
    const whereabouts = await Whereabouts.of(path, writer, async () => number++);
    t.after(() => whereabouts.stop());
    await whereabouts.look();
    await whereabouts.writing(async () => {});
    rmSync(path);
    await whereabouts.look();
    await assert.rejects(
      whereabouts.writing(async () => {}),
      /somebody has removed or replaced/,
    );
  });
});
