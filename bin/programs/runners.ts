import type { Logger } from 'pino';
import type { WorkerConfig as AgentConfig, Runner } from '../../actors/worker/config.ts';
import { externalRunner, RunnerError } from '../../actors/worker/runners/external/index.ts';
import { mljsRunner } from '../../actors/worker/runners/mljs/index.ts';
import {
  askInterpreter,
  type Interpreter,
  InterpreterError,
  nirs4allRunner,
  USUAL_PYTHON,
} from '../../actors/worker/runners/nirs4all/index.ts';
import { StartError } from '../../machines/protocol/start-error.ts';

export interface RunnerChoice {
  /** The interpreter to ask for nirs4all; absent: `python3` on the path, if there is one. */
  python?: string | undefined;
  /** Runners of the owner's, each `LIB=COMMAND`; one replaces a runner of the same library that is built in. */
  ownRunners?: readonly string[] | undefined;
}

/**
 * What a worker can run: the embedded `mljs.run`, `nirs4all.run` where the interpreter has it, and the owner's.
 * @throws StartError for a runner that is described wrongly, or a named interpreter that does not work
 */
export async function findRunners(
  choice: RunnerChoice,
  log: Logger,
): Promise<Pick<AgentConfig, 'runners' | 'python'>> {
  const own = (choice.ownRunners ?? []).map(ownRunner);
  const libraries = own.map((runner) => runner.library);
  const twice = libraries.find((library, i) => libraries.indexOf(library) !== i);
  if (twice !== undefined) throw new StartError('runner_unusable', `--runner: '${twice}' is given twice`);
  const interpreter = await findInterpreter(choice.python, log);
  const nirs4all = interpreter && nirs4allRunner(interpreter);
  const builtIn: Runner[] = [mljsRunner, ...(nirs4all ? [nirs4all] : [])];
  const runners = [...builtIn.filter(({ library }) => !libraries.includes(library)), ...own];
  log.info({ libraries: runners.map((runner) => runner.library) }, 'runs jobs of these libraries');
  if (!interpreter) return { runners };
  const { version, packages } = interpreter;
  return { runners, python: { version, packages } };
}

function ownRunner(text: string): Runner {
  try {
    return externalRunner(text);
  } catch (error) {
    if (!(error instanceof RunnerError)) throw error;
    throw new StartError('runner_unusable', `--runner: ${error.message}`);
  }
}

async function findInterpreter(named: string | undefined, log: Logger): Promise<Interpreter | null> {
  try {
    const interpreter = await askInterpreter(named ?? USUAL_PYTHON);
    const { executable, packages } = interpreter;
    if (packages.nirs4all === undefined) {
      const level = named === undefined ? 'info' : 'warn';
      log[level]({ python: executable }, 'this interpreter has no nirs4all; name another with --python');
    }
    return interpreter;
  } catch (error) {
    if (!(error instanceof InterpreterError)) throw error;
    if (named !== undefined) throw new StartError('runner_unusable', `--python: ${error.message}`);
    log.info({ why: error.message }, 'no python3: this worker runs no nirs4all jobs');
    return null;
  }
}
