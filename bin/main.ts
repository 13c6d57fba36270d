import type { ProgramName } from './program.ts';
import { endOnLostOutput } from './terminal/lost-output.ts';

/** Runs a program with this process's arguments and streams; sets the exit code and lets the process end. */
export async function main(name: ProgramName): Promise<void> {
  endOnLostOutput();
  const { argv, env, stdin, stdout, stderr } = process;
  const [command, kind = '', line = ''] = argv.slice(2);
  if (name === 'jqctl' && command === 'complete') {
    // Completion must answer at once, so nothing else is loaded.
    const { idLines } = await import('./completion/ids.ts');
    stdout.write(await idLines(kind, line, env));
    return;
  }
  const { runProgram } = await import('./program.ts');
  process.exitCode = await runProgram(name, argv.slice(2), { env, stdin, stdout, stderr });
}
