import { describe } from 'node:test';
import {
  askInterpreter,
  InterpreterError,
  type Nirs4allRunner,
  nirs4allRunner,
} from '../../actors/worker/runners/nirs4all/index.ts';
import { lacking } from '../support/requires.ts';
import { PYTHON } from './where.ts';

const answer = await askInterpreter(PYTHON).then(
  (interpreter) => nirs4allRunner(interpreter) ?? `${PYTHON} lacks nirs4all`,
  (fault: unknown) => {
    if (fault instanceof InterpreterError) return fault.message;
    throw fault;
  },
);

const why = typeof answer === 'string' ? `${answer}; spec/nirs4all/setup.sh installs it` : null;

/** Options of a specification that needs an interpreter with the library; as those of `requires`. */
export const needsLibrary = lacking('nirs4all', why);

/** Specifications with the real library. */
export function describeWithLibrary(title: string, tests: (runner: Nirs4allRunner) => void): void {
  describe(title, needsLibrary, () => tests(answer as Nirs4allRunner));
}
