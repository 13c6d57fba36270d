import { fileURLToPath } from 'node:url';
import type { Interpreter } from './interpreter.ts';

export { askInterpreter, type Interpreter, InterpreterError, USUAL_PYTHON } from './interpreter.ts';

/** The runner of job type `nirs4all.run` in one Python environment; the shape of every runner. */
export interface Nirs4allRunner {
  library: 'nirs4all';
  /** Absolute paths, so that it works in any directory. Followed by the four options of the runner protocol. */
  command: readonly string[];
  /** Once nirs4all is loaded, attempts are forked. */
  serves: true;
  predicts: true;
  /** Prints which one it is, and ends with exit code 0, where nirs4all can be loaded. */
  check: readonly string[];
  /** nirs4all, and what else tasks may require of the environment. */
  packages: Readonly<Record<string, string>>;
}

/** The runner of an interpreter that was asked; null if it lacks nirs4all. Its packages are worth declaring even so. */
export function nirs4allRunner({ executable, packages }: Interpreter): Nirs4allRunner | null {
  if (packages.nirs4all === undefined) return null;
  const program = fileURLToPath(new URL('./runner.py', import.meta.url));
  return {
    library: 'nirs4all',
    command: [executable, program],
    serves: true,
    predicts: true,
    check: [executable, '-c', 'import nirs4all; print(nirs4all.run, nirs4all.__version__)'],
    packages,
  };
}
