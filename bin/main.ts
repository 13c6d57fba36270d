import { type ProgramName, runProgram } from './program.ts';
import { endOnBrokenPipe } from './terminal/broken-pipe.ts';

/** Runs a program with this process's arguments and streams; sets the exit code and lets the process end. */
export async function main(name: ProgramName): Promise<void> {
  endOnBrokenPipe();
  const { env, stdin, stdout, stderr } = process;
  process.exitCode = await runProgram(name, process.argv.slice(2), { env, stdin, stdout, stderr });
}
