import { didYouMean, nearest } from '../../machines/protocol/nearest.ts';
import type { CommandModel, Flag } from '../completion/model.ts';

/**
 * What is wrong with the words behind a command, in one line; undefined where that cannot be told. The library
 * that parses them only knows which of many ways through them came to an end, and names the first of these.
 */
export function diagnose(
  { name, flags, argument, places }: CommandModel,
  words: readonly string[],
): string | undefined {
  const positional: string[] = [];
  const missing = new Set(flags.filter(({ required }) => required));
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (word === '--') return undefined;
    if (!word.startsWith('-') || word === '-') {
      positional.push(word);
      continue;
    }
    const [called = word] = word.split('=', 1);
    const flag = flags.find(({ names }) => names.includes(called));
    if (flag === undefined) return unknown(called, flags);
    const fault = invalidValue(flag, called, word, words[i + 1]);
    if (fault !== undefined) return fault;
    if (flag.value && !word.includes('=')) i++;
    missing.delete(flag);
  }
  if (argument?.repeats) return undefined;
  const [second] = positional;
  if (argument?.name === 'command' && argument.values.kind === 'words' && second !== undefined) {
    const further = argument.values.words;
    if (!further.includes(second))
      return `there is no command '${name} ${second}'${didYouMean(nearest(second, further))}`;
  }
  const extra = positional[places];
  if (extra !== undefined) return `Extraneous positional argument ("${extra}")`;
  const needed = [...missing].map(({ names, value }) => `${names.at(-1)} ${value?.name ?? ''}`.trim());
  return needed.length === 0
    ? undefined
    : `${needed.join(' and ')} ${needed.length > 1 ? 'are' : 'is'} needed`;
}

function unknown(name: string, flags: readonly Flag[]): string {
  const known = flags.flatMap(({ names }) => names.flatMap((flag) => /^--(.+)$/.exec(flag)?.[1] ?? []));
  // The dashes are no letters of it.
  const near = nearest(name.replace(/^-+/, ''), known);
  return `Unsupported option name ("${name}")${near === undefined ? '' : `, did you mean --${near}?`}`;
}

function invalidValue(flag: Flag, name: string, word: string, next: string | undefined): string | undefined {
  if (!flag.value) return word.includes('=') ? `${name} takes no value` : undefined;
  if (word.includes('=')) return undefined;
  if (next === undefined) return `${name} needs a value: ${name} ${flag.value.name}`;
  if (!next.startsWith('-') || next === '-') return undefined;
  const own = /^-\d/.test(next) ? `; write one that begins with - as ${name}=${next}` : '';
  return `${name} needs a value: ${name} ${flag.value.name}${own}`;
}
