import { Command, type Usage } from 'clipanion';
import { COMMANDS, type CommandName } from '../commands/list.ts';
import { EXIT } from './exit.ts';

/** What each exit code says; the help of every command lists them. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.done, 'done'],
  [
    EXIT.failed,
    'the job failed or was cancelled (commands that wait for it), or something is wrong (doctor)',
  ],
  [EXIT.usage, 'wrong usage or invalid input, also when the server refuses it'],
  [EXIT.unauthorised, 'not authorised'],
  [
    EXIT.unreachable,
    'the server is unreachable, not trusted or cannot serve now, or a download arrived damaged',
  ],
  [EXIT.timeout, 'the time of --timeout is over'],
  [EXIT.partial, 'the job succeeded, but some of its tasks failed (0 with --allow-failed)'],
  [EXIT.internal, 'a defect of the program itself'],
  [EXIT.output, 'the output cannot be written, as on a full disk'],
  [EXIT.interrupted, 'interrupted by Ctrl-C'],
];

/** The exit codes of the programs that serve. */
export const PROGRAM_EXIT_CODES: typeof EXIT_CODES = [
  [EXIT.done, 'ended in an orderly way, by SIGTERM or Ctrl-C'],
  [EXIT.usage, 'wrong usage, or it cannot start; the message says what to do'],
  [EXIT.unauthorised, 'not authorised (worker)'],
  [EXIT.unreachable, 'the certificate of the server is not trusted (worker)'],
  [
    EXIT.later,
    'another server on the same database has taken over, or the database does not answer (server); to be started again',
  ],
  [EXIT.interrupted, 'ended at once by Ctrl-C (143 by SIGTERM)'],
];

/** The exit codes of `jq-server check`. */
export const CHECK_EXIT_CODES: typeof EXIT_CODES = [
  [EXIT.done, 'the state directory is whole'],
  [EXIT.failed, 'something in it is damaged'],
  [EXIT.usage, 'wrong usage, or there is no store to check'],
  [EXIT.output, 'the output cannot be written, as on a full disk'],
];

/** The exit codes of what brings stores and objects elsewhere, or to another version. */
export const STATE_EXIT_CODES: typeof EXIT_CODES = [
  [EXIT.done, 'done'],
  [EXIT.usage, 'wrong usage, or it cannot be done; the message says what to do'],
  [EXIT.output, 'the output cannot be written, as on a full disk'],
  [EXIT.later, 'the database does not answer, or has no room for another session; to be run again'],
  [EXIT.interrupted, 'interrupted by Ctrl-C'],
];

/** The exit codes of `jq-server backup` and `jq-server restore`. */
export const BACKUP_EXIT_CODES: typeof EXIT_CODES = [
  [EXIT.done, 'done, and all of it is whole'],
  [EXIT.failed, 'done, and something in it was damaged where it came from'],
  [EXIT.usage, 'wrong usage, or it cannot be done; the message says what to do, and there is no half of it'],
  [EXIT.output, 'the output cannot be written, as on a full disk'],
];

const SERVER = `
The server is the one of \`--server\`, else of the environment variable \`JQ_SERVER\`, else
\`http://127.0.0.1:8765\`; the credential is that of \`--token-file\` or \`--token\`, else of \`JQ_TOKEN\`. Of a
server of https, the certificates of \`--ca\`, else of \`JQ_CA\`, have to vouch; else those that Node.js knows.
`;

interface Words {
  details: string;
  examples: [string, string][];
}

/** The help of a program that serves, or of a command that needs no server. */
export function programUsage(name: CommandName, words: Words): Usage {
  const { category, description } = COMMANDS[name];
  return Command.Usage({ category, description, ...words });
}

/** The help of a command that talks to a server: its own words, then what all of them share. */
export function clientUsage(name: CommandName, { details, examples }: Words): Usage {
  return programUsage(name, { details: `${details}\n${SERVER}`, examples });
}

const JOB = `
The job is named by its id, by the beginning or the end of it as lists and pages show it (\`job_01k9\`, \`7fq1bvvs\`), by
its name, or by \`--last\`. What fits several jobs is refused, and they are listed.
`;

/** The help of a command about one job. */
export function jobUsage(name: CommandName, { details, examples }: Words): Usage {
  return clientUsage(name, { details: `${details}\n${JOB}`, examples });
}

/** The description of an option with the name of its value, which the help shows behind the option. */
export const value = (name: string, description: string) => ({ description: `<${name}> ${description}` });
