import { fileURLToPath } from 'node:url';
import { askInterpreter, type Interpreter, InterpreterError, USUAL_PYTHON } from './interpreter.ts';

export { askInterpreter, type Interpreter, InterpreterError, USUAL_PYTHON };

/** The runner of job type `nirs4all.run` in one Python environment; the shape of every runner, and its Python. */
export interface Nirs4allRunner {
  library: 'nirs4all';
  /** Absolute paths, so that it works in any directory. Followed by the four options of the runner protocol. */
  command: readonly string[];
  /** Once nirs4all is loaded, attempts are forked. */
  serves: true;
  /** Ends with exit code 0 where nirs4all can be loaded. */
  check: readonly string[];
  /** nirs4all, and what else tasks may require of the environment. */
  packages: Readonly<Record<string, string>>;
  /** To declare as `version.python`, where `requirements.packages.python` is matched. */
  pythonVersion: string;
}

/** The runner of an interpreter that was asked; null if it lacks nirs4all. Its packages are worth declaring even so. */
export function nirs4allRunner({ executable, version, packages }: Interpreter): Nirs4allRunner | null {
  if (packages.nirs4all === undefined) return null;
  const program = fileURLToPath(new URL('./runner.py', import.meta.url));
  return {
    library: 'nirs4all',
    command: [executable, program],
    serves: true,
    check: [executable, '-c', 'import nirs4all'],
    packages,
    pythonVersion: version,
  };
}

/**
 * Asks an interpreter and returns its runner; null if there is no such interpreter or it lacks nirs4all. A
 * worker that wants to know which of the two, or to declare Python without nirs4all, takes the two steps apart.
 */
export async function probePython(python: string): Promise<Nirs4allRunner | null> {
  try {
    return nirs4allRunner(await askInterpreter(python));
  } catch (error) {
    if (error instanceof InterpreterError) return null;
    throw error;
  }
}
