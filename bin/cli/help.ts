import type { Cli, CommandClass, Definition } from 'clipanion';
import type pc from 'picocolors';
import { COMMANDS } from '../commands/list.ts';
import { wrap } from '../terminal/format.ts';
import {
  BACKUP_EXIT_CODES,
  CHECK_EXIT_CODES,
  EXIT_CODES,
  PROGRAM_EXIT_CODES,
  STATE_EXIT_CODES,
} from './usage.ts';

type Colours = ReturnType<typeof pc.createColors>;

/** Exit codes of commands that are none of a client. */
const OF_CATEGORY: Readonly<Record<string, typeof EXIT_CODES>> = {
  Programs: PROGRAM_EXIT_CODES,
  Checks: CHECK_EXIT_CODES,
  Backups: BACKUP_EXIT_CODES,
  State: STATE_EXIT_CODES,
};

/** The help of one command: usage, what it does, options, exit codes, examples. */
export function commandHelp(cli: Cli, command: CommandClass, colours: Colours): string {
  const { usage } = command;
  const path = [cli.binaryName, ...(command.paths?.[0] ?? [])].join(' ');
  const definition = cli.definitions().find((d) => d.path === path || d.path.startsWith(`${path} `));
  const codes = OF_CATEGORY[usage?.category ?? ''] ?? EXIT_CODES;
  const sections = [
    `${colours.bold(`${definition?.usage ?? path} [options]`)}\n\n${wrap(usage?.description ?? '', 2)}`,
    paragraphs(usage?.details ?? ''),
    section('Options', optionRows(definition), colours),
    section(
      'Exit codes',
      codes.map(([code, meaning]) => [String(code), meaning]),
      colours,
    ),
    examples(usage?.examples ?? [], path, colours),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

/** The help of a program with several commands: one line each. */
export function overview({ binaryName, binaryLabel, binaryVersion }: Cli, colours: Colours): string {
  const all = Object.entries(COMMANDS);
  const categories = [...new Set(all.map(([, { category }]) => category))];
  const named = categories.map((title) => {
    const commands = all.filter(([, { category }]) => category === title);
    const rows = commands.map(([name, { description }]): [string, string] => [
      `${binaryName} ${name}`,
      description,
    ]);
    return section(title, rows, colours);
  });
  const codes = EXIT_CODES.map(([code, meaning]): [string, string] => [String(code), meaning]);
  return [
    `${colours.bold(`${binaryLabel}, version ${binaryVersion}`)}\n\n  ${binaryName} <command> [options]`,
    ...named,
    section('Exit codes', codes, colours),
    `More about a command: ${binaryName} <command> --help\n`,
  ].join('\n\n');
}

function optionRows(definition: Definition | undefined): [string, string][] {
  const rows = (definition?.options ?? []).map(({ definition: flags, description }): [string, string] => {
    const [, name, text] = /^<([^>]+)> (.*)$/s.exec(description ?? '') ?? [];
    const shown = flags.replace(/,(?=--)/, ', ');
    return name === undefined ? [shown, description ?? ''] : [shown.replace('#0', name), text ?? ''];
  });
  return [...rows, ['-h, --help', 'show this help']];
}

function section(title: string, rows: [string, string][], colours: Colours): string {
  const indent = Math.max(...rows.map(([name]) => name.length)) + 4;
  const lines = rows.map(([name, text]) => `  ${name.padEnd(indent - 2)}${wrap(text, indent).trimStart()}`);
  return [colours.bold(title), ...lines].join('\n');
}

function examples(list: readonly (readonly [string, string])[], path: string, colours: Colours): string {
  if (list.length === 0) return '';
  const lines = list.map(([title, line]) => `  ${title}\n    $ ${line.replace(/\$0/g, path)}`);
  return [colours.bold('Examples'), ...lines].join('\n');
}

function paragraphs(text: string): string {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => wrap(paragraph.replaceAll('`', '').trim().replace(/\s+/g, ' '), 0))
    .filter((paragraph) => paragraph !== '')
    .join('\n\n');
}
