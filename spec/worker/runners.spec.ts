import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { findRunners } from '../../bin/programs/runners.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { demoRunner } from './demo-runner.ts';
import { temporaryFolder } from './folder.ts';
import { silent } from './quick.ts';
import { serverAndWorker, startTestWorker, submit, taskIn, taskOf } from './support.ts';

/** A program that answers as a Python interpreter with these packages would. */
async function python(t: TestContext, packages: Record<string, string>): Promise<string> {
  const path = join(await temporaryFolder(t), 'python3');
  const answer = JSON.stringify({ executable: path, version: '3.12.4', packages });
  await writeFile(path, `#!/bin/sh\necho '${answer}'\n`);
  await chmod(path, 0o755);
  return path;
}

const librariesOf = async (choice: Parameters<typeof findRunners>[0]) =>
  (await findRunners(choice, silent)).runners.map((runner) => runner.library);

describe('what a worker can run', () => {
  it('includes mljs, nirs4all where the interpreter has it, and the runners that its owner names', async (t) => {
    const full = await python(t, { nirs4all: '0.9.1', numpy: '2.1' });
    const found = await findRunners({ python: full, ownRunners: ['mean@1.0=wc', 'rows=wc'] }, silent);
    assert.deepEqual(found.runners.map(({ library, packages }) => [library, packages[library]]).slice(1), [
      ['nirs4all', '0.9.1'],
      ['mean', '1.0'],
      ['rows', 'unknown'],
    ]);
    assert.equal(found.runners[0]?.library, 'mljs');
    assert.equal(found.runners[1]?.command[0], full);
    assert.deepEqual(found.python, { version: '3.12.4', packages: { nirs4all: '0.9.1', numpy: '2.1' } });
  });

  it('does not need the interpreter to have nirs4all, nor any interpreter', async (t) => {
    assert.deepEqual(await librariesOf({ python: await python(t, { numpy: '2.1' }) }), ['mljs']);
    const { PATH } = process.env;
    t.after(() => {
      process.env.PATH = PATH;
    });
    process.env.PATH = '/no/such/folder';
    const found = await findRunners({}, silent);
    assert.deepEqual([found.runners.length, found.python], [1, undefined]);
  });

  it('looks for python3 on the path', async (t) => {
    const { PATH } = process.env;
    t.after(() => {
      process.env.PATH = PATH;
    });
    const full = await python(t, { nirs4all: '0.9.1' });
    process.env.PATH = `${join(full, '..')}:${PATH}`;
    assert.deepEqual(await librariesOf({}), ['mljs', 'nirs4all']);
  });

  it("may be the owner's own runner in place of one that is built in", async (t) => {
    const full = await python(t, { nirs4all: '0.9.1' });
    const { runners } = await findRunners(
      { python: full, ownRunners: ['nirs4all@2=wc', 'mljs@3=wc'] },
      silent,
    );
    assert.deepEqual(
      runners.map(({ library, command, packages }) => [library, ...command, packages[library]]),
      [
        ['nirs4all', 'wc', '2'],
        ['mljs', 'wc', '3'],
      ],
    );
  });

  const refused: [string, Parameters<typeof findRunners>[0], RegExp][] = [
    ['an interpreter that is not there', { python: '/no/python' }, /^--python: .*'\/no\/python'/],
    [
      'a program that is no interpreter',
      { python: 'true' },
      /^--python: 'true' does not answer like a Python/,
    ],
    [
      'a runner without a command',
      { ownRunners: ['mean'] },
      /^--runner: 'mean' is not of the form LIB=COMMAND/,
    ],
    [
      'two runners of one library',
      { ownRunners: ['a=wc', 'b=wc', 'a=cat'] },
      /^--runner: 'a' is given twice/,
    ],
  ];
  for (const [what, choice, message] of refused) {
    it(`is refused with ${what}`, async () => {
      await assert.rejects(
        findRunners(choice, silent),
        (fault) => fault instanceof StartError && message.test(fault.message),
      );
    });
  }
});

describe('a worker declares', () => {
  it('the packages of all its runners, and its Python', async (t) => {
    const server = await startTestServer(t);
    const rows = { library: 'rows', command: ['wc'], packages: { rows: 'unknown' } };
    const runners = [demoRunner, { ...rows, packages: { rows: 'unknown', numpy: '2.2' } }];
    await startTestWorker(t, server, {
      runners,
      python: { version: '3.12.4', packages: { numpy: '2.1', scipy: '1.14' } },
    });
    const [view] = await server.client.call('listWorkers');
    assert.deepEqual(view?.version.packages, { demo: '1.0', rows: 'unknown', numpy: '2.2', scipy: '1.14' });
    assert.equal(view?.version.python, '3.12.4');
  });

  it('no Python where there is none', async (t) => {
    const { server } = await serverAndWorker(t);
    const [view] = await server.client.call('listWorkers');
    assert.equal(view?.version.python, undefined);
  });
});

describe('a job', () => {
  const waitsFor = (server: Awaited<ReturnType<typeof startTestServer>>, job: string) =>
    until('the reason why it waits', async () => {
      const { waiting_for } = await taskOf(server, job);
      return (waiting_for ?? []).length > 0 && (waiting_for ?? []).map(({ requirement }) => requirement);
    });

  it('never reaches a worker that lacks its library', async (t) => {
    const { server } = await serverAndWorker(t);
    const job = await submit(server, { do: 'echo' }, { type: 'other.run' });
    assert.deepEqual(await waitsFor(server, job), ['packages.other']);
    const runners = [{ ...demoRunner, library: 'other', packages: { other: '2.0' } }];
    const able = await startTestWorker(t, server, { runners });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.worker_id], ['succeeded', able.workerId]);
  });

  it('may ask for a version of Python', async (t) => {
    const { server } = await serverAndWorker(t, { python: { version: '3.9.1', packages: {} } });
    const requirements = { packages: { python: '>=3.11' } };
    const job = await submit(server, { do: 'echo' }, { requirements });
    await waitsFor(server, job);
    const newer = await startTestWorker(t, server, { python: { version: '3.12.4', packages: {} } });
    assert.equal((await taskIn(server, job)).worker_id, newer.workerId);
  });
});
