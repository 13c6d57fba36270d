import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, isAbsolute, join, relative, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  askInterpreter,
  InterpreterError,
  nirs4allRunner,
} from '../../actors/worker/runners/nirs4all/index.ts';
import { describeWithLibrary } from './python.ts';
import { PYTHON } from './where.ts';

/** A program in place of an interpreter. */
async function program(t: TestContext, script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jq-python-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'python');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const answer = (told: unknown) => `echo '${JSON.stringify(told)}'`;

async function assertNoAnswer(python: string, reason: RegExp, timeoutMs?: number): Promise<void> {
  await assert.rejects(askInterpreter(python, timeoutMs), (fault: Error) => {
    assert.ok(fault instanceof InterpreterError);
    assert.match(fault.message, reason);
    assert.ok(fault.message.includes(`'${python}'`) && !fault.message.includes('\n'));
    return true;
  });
}

describe('asking a Python interpreter', () => {
  it('reports that there is none', async () => {
    await assertNoAnswer('/no/such/python', /there is no Python interpreter/);
    await assertNoAnswer('no-such-python', /there is no Python interpreter/);
  });

  it('reports that it may not be executed', async () => {
    await assertNoAnswer(tmpdir(), /may not be executed/);
  });

  it('reports why it does not work, by the last line that it printed', async (t) => {
    const broken = await program(t, 'echo "Traceback" >&2; echo "ImportError: no encodings" >&2; exit 3');
    await assertNoAnswer(broken, /does not work: ImportError: no encodings$/);
    await assertNoAnswer(await program(t, 'exit 3'), /does not work: exit code 3$/);
  });

  it('does not accept just any program as Python', async (t) => {
    await assertNoAnswer(await program(t, 'echo hello'), /does not answer like a Python interpreter/);
    await assertNoAnswer(await program(t, 'echo 7'), /does not answer like a Python interpreter/);
  });

  it('ends after a time limit', async (t) => {
    await assertNoAnswer(await program(t, 'exec sleep 60'), /did not answer within 0\.05 s/, 50);
  });

  it('is not disturbed by what else the interpreter prints', async (t) => {
    const told = { executable: '/opt/python', version: '3.11.2', packages: {} };
    const python = await program(t, `echo 'Welcome to the cluster'; ${answer(told)}`);
    assert.deepEqual(await askInterpreter(python), told);
  });

  it('reports what an interpreter without nirs4all has, although there is no runner for it', async (t) => {
    const told = { executable: '/opt/python', version: '3.12.1', packages: { numpy: '2.1.0' } };
    const python = await program(t, answer(told));
    const interpreter = await askInterpreter(python);
    assert.deepEqual(interpreter, told);
    assert.equal(nirs4allRunner(interpreter), null);
  });

  it('does not show it the credential of the worker', async (t) => {
    t.after(() => delete process.env.JQ_TOKEN);
    process.env.JQ_TOKEN = 'secret';
    const told = answer({ executable: '/p', version: 'without it', packages: {} });
    const python = await program(t, `test -z "$JQ_TOKEN" && ${told}`);
    assert.equal((await askInterpreter(python)).version, 'without it');
  });

  it('gives an absolute path, as tasks run in other directories', async (t) => {
    const python = await program(
      t,
      answer({ executable: '', version: '3.11.2', packages: { nirs4all: '1.4' } }),
    );
    const { executable } = await askInterpreter(relative('', python));
    assert.equal(executable, resolve(python));
  });
});

describeWithLibrary('the runner of an environment with nirs4all', (runner) => {
  it('is started by absolute paths: the interpreter and one Python file', () => {
    assert.equal(runner.command.length, 2);
    assert.ok(runner.command.every((word) => isAbsolute(word)));
    assert.equal(basename(runner.command[1] as string), 'runner.py');
  });

  it('declares the versions of what tasks may require', () => {
    assert.equal(runner.library, 'nirs4all');
    for (const name of ['nirs4all', 'numpy', 'scipy', 'scikit-learn', 'pandas', 'polars']) {
      assert.match(String(runner.packages[name]), /^\d+\.\d+/, name);
    }
  });

  it('keeps to the environment whose interpreter was named, even where that is a link', async () => {
    assert.equal((await askInterpreter(PYTHON)).executable, runner.command[0]);
    assert.ok((runner.command[0] as string).startsWith(resolve(PYTHON, '../..')));
  });
});
