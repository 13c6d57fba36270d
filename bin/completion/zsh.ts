import type { CommandModel, Flag, Values } from './model.ts';

/** For a text between single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** What brackets and colons mean to `_arguments`. */
const escaped = (text: string): string => text.replace(/[[\]:\\]/g, (char) => `\\${char}`);

function actionOf(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `(${values.words.join(' ')})`;
    case 'ids':
      // The space keeps the shell from adding arguments of its own.
      return ` _jqctl_ids ${values.of}`;
    case 'files':
      return '_files';
    case 'directories':
      return '_files -/';
    default:
      return ' ';
  }
}

function argumentsOf(flag: Flag): string[] {
  const { names, description, value } = flag;
  const takes = value === null ? '' : `:${escaped(value.name)}:${actionOf(value.values)}`;
  // Given once, under whichever of its names.
  const instead = names.length > 1 ? `(${names.join(' ')})` : '';
  return names.map((name) => quoted(`${instead}${name}[${escaped(description)}]${takes}`));
}

/** What completes the words behind a command. */
function callOf({ flags, argument }: CommandModel): string {
  const place = argument?.repeats ? '*' : '1';
  const first =
    argument === null ? [] : [quoted(`${place}:${escaped(argument.name)}:${actionOf(argument.values)}`)];
  const specs = [...flags.flatMap(argumentsOf), ...first].map((spec) => `        ${spec}`);
  return `      _arguments -s \\\n${specs.join(' \\\n')}`;
}

/** The same for one of two words, the second of which is there already. */
function branchOf(command: CommandModel): string {
  const second = command.name.split(' ')[1];
  return `      if (( CURRENT > 2 )) && [[ $words[2] == ${second} ]]; then
        shift words
        (( CURRENT-- ))
  ${callOf(command).replaceAll('\n', '\n  ')}
        return
      fi
`;
}

export function zshScript(commands: readonly CommandModel[]): string {
  const oneWord = commands.filter(({ name }) => !name.includes(' '));
  const list = oneWord.map(({ name, description }) => `    ${quoted(`${name}:${escaped(description)}`)}`);
  const cases = oneWord.map((command) => {
    const further = commands.filter(({ name }) => name.startsWith(`${command.name} `));
    return `    ${command.name})\n${further.map(branchOf).join('')}${callOf(command)}\n      ;;`;
  });
  return `#compdef jqctl
# zsh completion of jqctl. Load it with: source <(jqctl completion zsh)
# or keep it as _jqctl in a directory of $fpath.

_jqctl_ids() {
  local -a ids
  local id what
  while IFS=$'\\t' read -r id what; do
    ids+=("$id:\${what//:/\\\\:}")
  done < <("$program" complete "$1" "$BUFFER" 2>/dev/null)
  _describe -V -t ids id ids
}

_jqctl() {
  local program=\${(Q)words[1]} curcontext=$curcontext state line
  local -A opt_args
  local -a commands
  commands=(
${list.join('\n')}
  )
  _arguments -C '(-)'{-h,--help}'[show this help]' '(-)--version[show the version]' \\
    '1:command:->command' '*::argument:->argument' && return
  if [[ $state == command ]]; then
    _describe -t commands command commands
    return
  fi
  case $line[1] in
${cases.join('\n')}
  esac
}

if [[ $funcstack[1] == _jqctl ]]; then
  _jqctl "$@"
else
  compdef _jqctl jqctl
fi
`;
}
