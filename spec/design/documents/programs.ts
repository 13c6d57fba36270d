import { Cli, type CommandClass } from 'clipanion';
import { EXIT_CODES, PROGRAM_EXIT_CODES } from '../../../bin/cli/usage.ts';
import { ServerProgram } from '../../../bin/commands/server.ts';
import { WorkerProgram } from '../../../bin/commands/worker.ts';
import { ROLES } from '../../../machines/protocol/rights.ts';
import { table } from './table.ts';

/** The exit codes of `jqctl`, as its help has them. */
export const exitCodes = (): string => codes(EXIT_CODES);

/** The exit codes of the programs that serve. */
export const programExitCodes = (): string => codes(PROGRAM_EXIT_CODES);

const codes = (all: typeof EXIT_CODES): string =>
  table(
    ['Code', 'Meaning'],
    all.map(([code, meaning]) => [String(code), meaning]),
  );

/** The flags of `jq-server`, as its help has them. */
export const serverFlags = (): string => flags(ServerProgram);

/** The flags of `jq-worker`. */
export const workerFlags = (): string => flags(WorkerProgram);

function flags(program: CommandClass): string {
  const options = Cli.from([program]).definitions()[0]?.options ?? [];
  const rows = options.map(({ definition, description = '' }) => {
    // Whoever takes a value has its name in front of the description.
    const [, name = '', text = description] = /^<([^>]+)> (.*)$/s.exec(description) ?? [];
    return [`\`${definition.replace('#0', name)}\``, text];
  });
  return table(['Flag', 'What it sets'], rows);
}

/** What each role may do. */
export const roles = (): string =>
  table(
    ['Role', 'Rights'],
    Object.entries(ROLES).map(([role, rights]) => [
      `\`${role}\``,
      rights.includes('admin') ? 'all' : rights.map((right) => `\`${right}\``).join(', '),
    ]),
  );
