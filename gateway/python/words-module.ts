import { WAITING_SENTENCES, WAITING_WORDS } from '../../machines/matching/waiting-words.ts';

const literal = (value: string | boolean | null): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : { true: 'True', false: 'False', null: 'None' }[`${value}`];

/** The module `_words.py`: what keeps tasks from workers, as `jqctl` says it. */
export const wordsModule = (): string =>
  [
    '"""What keeps tasks from workers, in words. Made with the wheel, of those that jqctl has."""',
    '',
    'from __future__ import annotations',
    '',
    'from typing import Dict, NamedTuple, Optional, Tuple',
    '',
    '',
    'class Words(NamedTuple):',
    '    pattern: str',
    '    #: Where no worker will do; `{1}` stands for what the first group of the pattern found.',
    '    none: str',
    '    #: What comes behind "2 of 3 workers"; None: the sentence for none of them says it.',
    '    some: Optional[str]',
    '    #: Whether it is about workers, and nothing that the task asks for.',
    '    about: bool',
    '',
    '',
    '#: The first whose pattern fits counts.',
    'WORDS: Tuple[Words, ...] = (',
    ...WAITING_WORDS.map(
      ({ pattern, none, some, about }) =>
        `    Words(${[pattern, none, some, about].map(literal).join(', ')}),`,
    ),
    ')',
    '#: What is said whatever the task asks for.',
    'SENTENCES: Dict[str, str] = {',
    ...Object.entries(WAITING_SENTENCES).map(([name, text]) => `    ${literal(name)}: ${literal(text)},`),
    '}',
    '',
  ].join('\n');
