import type { CommandModel, Flag, Values } from './model.ts';

const quoted = (text: string): string => `'${text.replace(/['\\]/g, (char) => `\\${char}`)}'`;

/** The options of `complete` that say what may follow. */
function offer(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `-a ${quoted(values.words.join(' '))}`;
    case 'ids':
      return `-k -a ${quoted(`(__jqctl_ids ${values.of})`)}`;
    case 'files':
      return '-F';
    case 'directories':
      return `-a '(__fish_complete_directories)'`;
    default:
      return '';
  }
}

/** Where a command of that name is meant; with names of two words, no other that begins so. */
function where(name: string, commands: readonly CommandModel[]): string {
  const [first, second] = name.split(' ');
  const seen = `__fish_seen_subcommand_from ${first}`;
  if (second !== undefined) return `'${seen}; and __fish_seen_subcommand_from ${second}'`;
  const further = commands.flatMap((other) =>
    other.name.startsWith(`${name} `) ? [other.name.slice(name.length + 1)] : [],
  );
  return further.length === 0
    ? `'${seen}'`
    : `'${seen}; and not __fish_seen_subcommand_from ${further.join(' ')}'`;
}

function flagLine(condition: string, { names, description, value }: Flag): string {
  const called = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  // Only where files are asked for does fish offer any.
  const takes = value === null ? [] : [value.values.kind === 'files' ? '-r' : '-x', offer(value.values)];
  const parts = [`-n ${condition}`, ...called, ...takes, `-d ${quoted(description)}`];
  return `complete -c jqctl ${parts.filter(Boolean).join(' ')}`;
}

export function fishScript(commands: readonly CommandModel[]): string {
  const names = commands
    .filter(({ name }) => !name.includes(' '))
    .map(
      ({ name, description }) =>
        `complete -c jqctl -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    );
  const places = commands.flatMap(({ name, argument }) =>
    argument === null || argument.values.kind === 'any'
      ? []
      : `complete -c jqctl -n ${where(name, commands)} ${offer(argument.values)}`,
  );
  const flags = commands.flatMap(({ name, flags: all }) =>
    all.map((flag) => flagLine(where(name, commands), flag)),
  );
  return `# fish completion of jqctl. Load it with: jqctl completion fish | source
# or keep it as ~/.config/fish/completions/jqctl.fish

function __jqctl_ids
    set -l words (commandline -opc)
    $words[1] complete $argv[1] (commandline -cp) 2>/dev/null
end

complete -c jqctl -f
complete -c jqctl -n __fish_use_subcommand -l version -d 'show the version'
${[...names, ...places, ...flags].join('\n')}
`;
}
