import type { CommandModel, Values } from './model.ts';

/** Static words only: bash expands what `compgen -W` gets. */
function placeOf(values: Values): string {
  if (values.kind === 'words') return `words ${values.words.join(' ')}`;
  return values.kind === 'ids' ? `ids ${values.of}` : values.kind;
}

/** A name of two words holds a space. */
const patternOf = (name: string): string => (name.includes(' ') ? `'${name}'` : name);

const branch = (pattern: string, text: string): string => `    ${pattern}) echo '${text}' ;;`;

/** Splits the line itself, since bash breaks words at the colons and equals signs of addresses and flags. */
export function bashScript(commands: readonly CommandModel[]): string {
  const names = [...new Set(commands.map(({ name }) => name.split(' ')[0]))].join(' ');
  const repeating = commands.filter(({ argument }) => argument?.repeats).map(({ name }) => patternOf(name));
  const flags = commands.map((command) =>
    branch(patternOf(command.name), command.flags.flatMap((flag) => flag.names).join(' ')),
  );
  const values = commands.flatMap(({ name, flags: all }) =>
    all.flatMap(({ names: called, value }) =>
      value === null
        ? []
        : branch(called.map((flag) => `'${name} ${flag}'`).join(' | '), placeOf(value.values)),
    ),
  );
  const places = commands.flatMap(({ name, argument }) =>
    argument === null ? [] : branch(patternOf(name), placeOf(argument.values)),
  );
  return `# bash completion of jqctl. Load it with: source <(jqctl completion bash)

# The flags of a command.
_jqctl_flags() {
  case $1 in
${flags.join('\n')}
  esac
}

# What a flag of a command takes; nothing for one that takes no value.
_jqctl_value() {
  case "$1 $2" in
${values.join('\n')}
  esac
}

# What stands behind a command.
_jqctl_argument() {
  case $1 in
${places.join('\n')}
  esac
}

# Whether several of that may stand behind a command.
_jqctl_repeats() {
  case $1 in
    ${repeating.join(' | ')}) ;;
    *) false ;;
  esac
}

# _jqctl_offer CURRENT KIND [WORD...]
_jqctl_offer() {
  local current=$1 kind=$2 reply
  shift 2
  case $kind in
    words) while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen -W "$*" -- "$current") ;;
    files | directories)
      compopt -o filenames 2>/dev/null
      while IFS= read -r reply; do COMPREPLY+=("$reply"); done \\
        < <(if [[ $kind == files ]]; then compgen -f -- "$current"; else compgen -d -- "$current"; fi)
      ;;
    ids)
      while IFS=$'\\t' read -r reply _; do
        [[ $reply == "$current"* ]] && COMPREPLY+=("$reply")
      done < <("\${COMP_WORDS[0]}" complete "$1" "$COMP_LINE" 2>/dev/null)
      ;;
  esac
}

_jqctl() {
  local line=\${COMP_LINE:0:COMP_POINT} current= command= flag= word position=0
  local -a words
  COMPREPLY=()
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=\${words[\${#words[@]} - 1]}
    unset "words[\${#words[@]}-1]"
  fi
  for word in "\${words[@]:1}"; do
    if [[ -n $flag ]]; then
      flag=
    elif [[ $word == -* ]]; then
      [[ $word == *=* || -z $(_jqctl_value "$command" "$word") ]] || flag=$word
    elif [[ -z $command ]]; then
      command=$word
    elif ((position == 0)) && [[ -n $(_jqctl_flags "$command $word") ]]; then
      command="$command $word"
    else
      ((position++))
    fi
  done
  if [[ -z $flag && $current == --*=* ]]; then
    flag=\${current%%=*}
    current=\${current#*=}
  fi
  if [[ -n $flag ]]; then
    _jqctl_offer "$current" $(_jqctl_value "$command" "$flag")
  elif [[ -z $command ]]; then
    _jqctl_offer "$current" words ${names} --help --version
  elif [[ $current == -* ]]; then
    _jqctl_offer "$current" words $(_jqctl_flags "$command")
  elif ((position == 0)) || _jqctl_repeats "$command"; then
    _jqctl_offer "$current" $(_jqctl_argument "$command")
  fi
}

complete -F _jqctl jqctl
`;
}
