import { type BaseContext, Builtins, Cli, type Command, type CommandClass } from 'clipanion';
import pc from 'picocolors';
import { PACKAGE_VERSION } from '../gateway/version.ts';
import { didYouMean, nearest } from '../machines/protocol/nearest.ts';
import { diagnose } from './cli/diagnosis.ts';
import { EXIT } from './cli/exit.ts';
import { commandHelp, overview } from './cli/help.ts';
import { COMMANDS } from './commands/list.ts';
import { commandsIn } from './commands/load.ts';
import { isColourful } from './terminal/output.ts';
import { plain } from './terminal/plain.ts';

export type ProgramName = 'jqctl' | 'jq-server' | 'jq-worker';
export type Streams = Pick<BaseContext, 'env' | 'stdin' | 'stdout' | 'stderr'>;

const LABELS: Record<ProgramName, string> = {
  jqctl: 'The command line of jq-cluster',
  'jq-server': 'The server of jq-cluster',
  'jq-worker': 'The worker of jq-cluster',
};

/** The commands that a command line may mean; no others are loaded. */
async function commandsFor(name: ProgramName, argv: readonly string[]): Promise<CommandClass[]> {
  if (name === 'jq-worker') return [(await import('./commands/worker.ts')).WorkerProgram];
  if (name === 'jqctl') return commandsIn(argv);
  const [
    { ServerProgram },
    { CheckStateProgram },
    { BackupProgram },
    { RestoreProgram },
    { CompactProgram },
    { CopyProgram },
    { CopyObjectsProgram },
    { MigrateProgram },
  ] = await Promise.all([
    import('./commands/server.ts'),
    import('./commands/check-state.ts'),
    import('./commands/backup.ts'),
    import('./commands/restore.ts'),
    import('./commands/compact.ts'),
    import('./commands/copy.ts'),
    import('./commands/copy-objects.ts'),
    import('./commands/migrate.ts'),
  ]);
  return [
    ServerProgram,
    CheckStateProgram,
    BackupProgram,
    RestoreProgram,
    CompactProgram,
    CopyProgram,
    CopyObjectsProgram,
    MigrateProgram,
  ];
}

/** Runs one command line and gives its exit code; never throws and never ends the process. */
export async function runProgram(name: ProgramName, argv: string[], streams: Streams): Promise<number> {
  const { stdout, stderr, env } = streams;
  const coloursOf = (stream: Streams['stdout']) => pc.createColors(isColourful(stream, env));
  const commands = await commandsFor(name, argv);
  const cli = Cli.from([...commands, Builtins.VersionCommand], {
    binaryName: name,
    binaryLabel: LABELS[name],
    binaryVersion: PACKAGE_VERSION,
    enableColors: false,
  });
  const asked = named(commands, argv);
  if (wantsHelp(argv)) {
    const colours = coloursOf(stdout);
    stdout.write(asked === undefined ? overview(cli, colours) : commandHelp(cli, asked, colours));
    return EXIT.done;
  }
  if (name === 'jqctl' && argv.length === 0) {
    stderr.write(overview(cli, coloursOf(stderr)));
    return EXIT.usage;
  }
  const context = { ...streams, colorDepth: 1 };
  let command: Command;
  try {
    command = cli.process(argv, context);
  } catch (error) {
    // The library would write this to stdout and answer 1.
    stderr.write(
      `${coloursOf(stderr).red('error:')} ${await usageMessage(error as Error, cli, asked, argv)}\n`,
    );
    return EXIT.usage;
  }
  return cli.run(command, context);
}

const wantsHelp = (argv: string[]) => argv.includes('-h') || argv.includes('--help') || argv[0] === 'help';

const wordsOf = (command: CommandClass): readonly string[] => command.paths?.[0] ?? [];
const wordOf = (command: CommandClass) => wordsOf(command)[0] ?? '';

/** The command that a command line names, or the one of a program that needs no name. */
function named(commands: readonly CommandClass[], argv: readonly string[]): CommandClass | undefined {
  const nameless = commands.find((command) => wordOf(command) === '');
  if (nameless) return commands.find((command) => wordOf(command) === argv[0]) ?? nameless;
  const first = new Set(commands.map(wordOf));
  const at = argv.findIndex((arg) => first.has(arg));
  // Of those that fit, the one of most words.
  return commands
    .filter((command) => at >= 0 && wordsOf(command).every((word, i) => argv[at + i] === word))
    .sort((a, b) => wordsOf(b).length - wordsOf(a).length)[0];
}

/** What is wrong with a command line, and where to read how it is right. */
async function usageMessage(
  error: Error,
  cli: Cli,
  command: CommandClass | undefined,
  argv: string[],
): Promise<string> {
  const program = cli.binaryName;
  if (command === undefined) {
    const word = argv.find((arg) => !arg.startsWith('-'));
    if (word === undefined) return `no command is named\nSee: ${program} --help`;
    const hint = didYouMean(nearest(word, Object.keys(COMMANDS)));
    return `there is no command '${plain(word)}'${hint}\nSee: ${program} --help`;
  }
  const word = wordOf(command);
  const { commandModels } = await import('./completion/model.ts');
  const name = wordsOf(command).join(' ');
  const model = commandModels(cli.definitions()).find((known) => known.name === name);
  // A word of the command itself may stand behind options of the program.
  const words = word === '' ? argv : argv.toSpliced(argv.indexOf(word), wordsOf(command).length);
  const found = model && diagnose(model, words);
  const message = plain(found ?? error.message.split('\n')[0]?.replace(/\.$/, '') ?? '');
  return `${message}\nSee: ${[program, name, '--help'].filter(Boolean).join(' ')}`;
}
