import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  askInterpreter,
  InterpreterFault,
  type Nirs4allRunner,
  nirs4allRunner,
} from '../../actors/agent/runners/nirs4all/index.ts';

/** The interpreter that these tests use. */
export const PYTHON =
  process.env.JQ_TEST_PYTHON || fileURLToPath(new URL('../../.venv/bin/python', import.meta.url));

const answer = await askInterpreter(PYTHON).then(
  (interpreter) => nirs4allRunner(interpreter) ?? `${PYTHON} lacks nirs4all`,
  (fault: unknown) => {
    if (fault instanceof InterpreterFault) return fault.message;
    throw fault;
  },
);

/**
 * Tests with the real library. Where it is not installed they are left out, and say so; in CI, where it has to
 * be, that is a failure.
 */
export function describeWithLibrary(title: string, tests: (runner: Nirs4allRunner) => void): void {
  if (typeof answer !== 'string') return void describe(title, () => tests(answer));
  const why = `${answer}; spec/nirs4all/setup.sh installs it`;
  if (process.env.CI === 'true') it(title, () => assert.fail(why));
  else it(title, { skip: why }, () => {});
}
