import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { system } from '../../actors/worker/child/system.ts';
import { JOB } from '../support/job.ts';
import { processesWith } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

/** A job of more than 64 KiB, which is read in another process. */
const LARGE = JSON.stringify({ ...JOB, params: { text: 'x'.repeat(100_000) } });

const readersOf = ({ pid }: { pid: number }) =>
  processesWith('parsing/child.').filter((reader) => system.rowOf(reader)?.parent === pid);

/** A server that has read a large body, and the process that did. */
async function readOne(t: TestContext) {
  const server = await startServerProgram({ state: await temporaryDirectory(t) });
  t.after(() => server.kill());
  const submit = async () => (await fetch(`${server.url}/v1/jobs`, { method: 'POST', body: LARGE })).status;
  assert.equal(await submit(), 200);
  const [reader, ...others] = readersOf(server);
  assert.ok(reader !== undefined && others.length === 0, 'the body was read elsewhere');
  return { server, submit, reader };
}

describe('a process that reads the bodies of a server', () => {
  it('ends when the server is killed', async (t) => {
    const { server, reader } = await readOne(t);
    await server.kill();
    await until('the reader has ended', () => system.rowOf(reader)?.zombie ?? true);
  });

  it('ignores a signal that a terminal sends to the whole group: the server first answers what is under way', async (t) => {
    const { server, submit, reader } = await readOne(t);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(reader, signal);
    assert.equal(await submit(), 200);
    assert.equal(system.rowOf(reader)?.parent, server.pid);
  });

  it('is replaced by another when it is killed', async (t) => {
    const { server, submit, reader } = await readOne(t);
    process.kill(reader, 'SIGKILL');
    await until('the server knows that it has ended', async () => (await submit()) === 200);
    assert.deepEqual(
      readersOf(server).map((another) => another === reader),
      [false],
    );
  });
});
