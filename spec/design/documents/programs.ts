import { EXIT_CODES, PROGRAM_EXIT_CODES } from '../../../bin/cli/usage.ts';
import { ROLES } from '../../../machines/rights.ts';
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

/** What each role may do. */
export const roles = (): string =>
  table(
    ['Role', 'Rights'],
    Object.entries(ROLES).map(([role, rights]) => [
      `\`${role}\``,
      rights.includes('admin') ? 'all' : rights.map((right) => `\`${right}\``).join(', '),
    ]),
  );
