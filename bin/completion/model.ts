import type { Definition } from 'clipanion';
import { SHARES } from '../../actors/server/scheduling/rounds.ts';
import { TRANSPORT_CHOICES } from '../../gateway/transport/choose.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { RIGHTS } from '../../machines/protocol/rights.ts';
import { JOB_STATUSES } from '../../machines/schema/statuses.ts';
import { LOG_LEVELS } from '../cli/log-level.ts';
import { CHART_FORMATS } from '../commands/machines.ts';
import { TOKEN_ACTIONS } from '../commands/tokens.ts';
import { ONLY } from '../jobs/submit/resubmission.ts';
import type { IdKind } from './ids.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What may stand in a place of a command line; `any` is what no program can guess. */
export type Values =
  | { kind: 'any' | 'files' | 'directories' }
  | { kind: 'words'; words: readonly string[] }
  | { kind: 'ids'; of: IdKind };

export interface Flag {
  /** Such as `-f` and `--follow`. */
  names: string[];
  description: string;
  /** The name of its value and what that may be; null when it takes none. */
  value: { name: string; values: Values } | null;
  required: boolean;
}

export interface CommandModel {
  /** One word or two. */
  name: string;
  description: string;
  flags: Flag[];
  /** What stands behind the command, besides flags; several of it where it repeats. */
  argument: { name: string; values: Values; repeats: boolean } | null;
  /** How many words may stand there. */
  places: number;
}

const words = (list: readonly string[]): Values => ({ kind: 'words', words: list });

/** By the name of a value or argument in the help. */
const VALUES: Readonly<Record<string, Values>> = {
  job: { kind: 'ids', of: 'jobs' },
  'job or model': { kind: 'ids', of: 'jobs' },
  'model file': { kind: 'files' },
  worker: { kind: 'ids', of: 'workers' },
  'job file': { kind: 'files' },
  dataset: { kind: 'files' },
  folder: { kind: 'directories' },
  machine: words(MACHINE_NAMES),
  shell: words(SHELLS),
  'token action': words(TOKEN_ACTIONS),
  RIGHT: words(RIGHTS),
  STATUS: words(JOB_STATUSES),
  TASKS: words(ONLY),
  FORMAT: words(CHART_FORMATS),
  LEVEL: words(LOG_LEVELS),
  TRANSPORT: words(TRANSPORT_CHOICES),
  HOW: words(SHARES),
  FILE: { kind: 'files' },
  DIR: { kind: 'directories' },
};

/** Where the name alone does not tell. */
const FLAG_VALUES: Readonly<Record<string, Values>> = {
  '--actor': { kind: 'ids', of: 'actors' },
  '--task': { kind: 'ids', of: 'tasks' },
};

const HELP: Flag = { names: ['-h', '--help'], description: 'show this help', value: null, required: false };

/** What can be completed, from the very definitions that parse command lines. */
export function commandModels(definitions: readonly Definition[]): CommandModel[] {
  const names = definitions.map(({ path }) => path.split(' ').slice(1).join(' '));
  return definitions.map(({ path, usage, description, options }, i) => {
    const name = names[i] as string;
    const behind = usage.slice(path.length);
    const places = [...behind.matchAll(/[<[]([\w ]+)[>\]]/g)];
    const argument = places[0]?.[1];
    const further = names.flatMap((other) =>
      other.startsWith(`${name} `) ? [other.slice(name.length + 1)] : [],
    );
    return {
      name,
      description: description?.trim().replace(/\.$/, '') ?? '',
      flags: [...options.map(flagOf), HELP],
      argument:
        argument === undefined
          ? further.length > 0
            ? { name: 'command', values: words(further), repeats: false }
            : null
          : { name: argument, values: VALUES[argument] ?? { kind: 'any' }, repeats: behind.includes('...') },
      places: places.length,
    };
  });
}

function flagOf({ definition, description = '', required }: Definition['options'][number]): Flag {
  const names = definition.split(' ')[0]?.split(',') ?? [];
  const [, name, text] = /^<([^>]+)> (.*)$/s.exec(description) ?? [];
  if (!definition.includes('#')) return { names, description, value: null, required };
  const values = names.map((flag) => FLAG_VALUES[flag]).find(Boolean) ??
    VALUES[name ?? ''] ?? { kind: 'any' };
  return { names, description: text ?? description, value: { name: name ?? 'VALUE', values }, required };
}
