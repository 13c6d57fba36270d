import { type BaseContext, Builtins, Cli, type Command, type CommandClass } from 'clipanion';
import pc from 'picocolors';
import { PACKAGE_VERSION } from '../gateway/version.ts';
import { didYouMean, nearest } from '../machines/nearest.ts';
import { ArtifactsCommand } from './commands/artifacts.ts';
import { CancelCommand } from './commands/cancel.ts';
import { CheckCommand } from './commands/check.ts';
import { CheckStateProgram } from './commands/check-state.ts';
import { CompletionCommand } from './commands/completion.ts';
import { EventsCommand } from './commands/events.ts';
import { InspectCommand } from './commands/inspect.ts';
import { JobsCommand } from './commands/jobs.ts';
import { LogsCommand } from './commands/logs.ts';
import { MachinesCommand } from './commands/machines.ts';
import { ResubmitCommand } from './commands/resubmit.ts';
import { RetryCommand } from './commands/retry.ts';
import { RunCommand } from './commands/run.ts';
import { ServerCommand, ServerProgram } from './commands/server.ts';
import { StatsCommand } from './commands/stats.ts';
import { StatusCommand } from './commands/status.ts';
import { SubmitCommand } from './commands/submit.ts';
import { TopCommand } from './commands/top.ts';
import { WaitCommand } from './commands/wait.ts';
import { WorkerCommand, WorkerProgram } from './commands/worker.ts';
import { WorkersCommand } from './commands/workers.ts';
import { commandModels } from './completion/model.ts';
import { diagnose } from './support/diagnosis.ts';
import { EXIT } from './support/exit.ts';
import { commandHelp, overview } from './support/help.ts';
import { isColourful } from './terminal/output.ts';
import { plain } from './terminal/plain.ts';

export type ProgramName = 'jqctl' | 'jq-server' | 'jq-worker';
export type Streams = Pick<BaseContext, 'env' | 'stdin' | 'stdout' | 'stderr'>;

const LABELS: Record<ProgramName, string> = {
  jqctl: 'The command line of jq-cluster',
  'jq-server': 'The server of jq-cluster',
  'jq-worker': 'The worker of jq-cluster',
};

const COMMANDS: Record<ProgramName, CommandClass[]> = {
  jqctl: [
    SubmitCommand,
    RunCommand,
    CheckCommand,
    StatusCommand,
    LogsCommand,
    WaitCommand,
    ArtifactsCommand,
    JobsCommand,
    CancelCommand,
    RetryCommand,
    ResubmitCommand,
    WorkersCommand,
    StatsCommand,
    EventsCommand,
    TopCommand,
    MachinesCommand,
    InspectCommand,
    ServerCommand,
    WorkerCommand,
    CompletionCommand,
  ],
  'jq-server': [ServerProgram, CheckStateProgram],
  'jq-worker': [WorkerProgram],
};

/** Runs one command line and gives its exit code; never throws and never ends the process. */
export async function runProgram(name: ProgramName, argv: string[], streams: Streams): Promise<number> {
  const { stdout, stderr, env } = streams;
  const cli = Cli.from([...COMMANDS[name], Builtins.VersionCommand], {
    binaryName: name,
    binaryLabel: LABELS[name],
    binaryVersion: PACKAGE_VERSION,
    enableColors: false,
  });
  const asked = named(name, argv);
  if (wantsHelp(argv)) {
    const colours = pc.createColors(isColourful(stdout, env));
    stdout.write(asked === undefined ? overview(cli, colours) : commandHelp(cli, asked, colours));
    return EXIT.done;
  }
  if (name === 'jqctl' && argv.length === 0) {
    stderr.write(overview(cli, pc.createColors(isColourful(stderr, env))));
    return EXIT.usage;
  }
  const context = { ...streams, colorDepth: 1 };
  let command: Command;
  try {
    command = cli.process(argv, context);
  } catch (fault) {
    // The library would write this to stdout and answer 1.
    const red = pc.createColors(isColourful(stderr, env)).red;
    stderr.write(`${red('error:')} ${usageMessage(fault as Error, cli, name, argv)}\n`);
    return EXIT.usage;
  }
  return cli.run(command, context);
}

const wantsHelp = (argv: string[]) => argv.includes('-h') || argv.includes('--help') || argv[0] === 'help';

const wordOf = (command: CommandClass) => command.paths?.[0]?.[0] ?? '';

/** The command that a command line names, or the one of a program that needs no name. */
function named(name: ProgramName, argv: string[]): CommandClass | undefined {
  const commands = COMMANDS[name];
  const nameless = commands.find((command) => wordOf(command) === '');
  if (nameless) return commands.find((command) => wordOf(command) === argv[0]) ?? nameless;
  return argv.map((arg) => commands.find((command) => wordOf(command) === arg)).find((found) => found);
}

/** What is wrong with a command line, and where to read how it is right. */
function usageMessage(fault: Error, cli: Cli, name: ProgramName, argv: string[]): string {
  const command = named(name, argv);
  if (command === undefined) {
    const word = argv.find((arg) => !arg.startsWith('-'));
    if (word === undefined) return `no command is named\nSee: ${name} --help`;
    const hint = didYouMean(nearest(word, COMMANDS[name].map(wordOf)));
    return `there is no command '${plain(word)}'${hint}\nSee: ${name} --help`;
  }
  const word = wordOf(command);
  const model = commandModels(cli.definitions()).find((known) => known.name === word);
  // A word of the command itself may stand behind options of the program.
  const words = word === '' ? argv : argv.toSpliced(argv.indexOf(word), 1);
  const found = model && diagnose(model, words);
  const message = plain(found ?? fault.message.split('\n')[0]?.replace(/\.$/, '') ?? '');
  return `${message}\nSee: ${[name, wordOf(command), '--help'].filter(Boolean).join(' ')}`;
}
