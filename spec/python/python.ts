import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { PYTHON } from '../nirs4all/where.ts';
import type { Outcome } from '../support/heard.ts';
import { lacking } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';

const run = promisify(execFile);
const ASK = 'import ensurepip, sys, venv; print(sys.executable, *sys.version_info[:2])';

export interface Interpreter {
  path: string;
  version: string;
}

/** Where interpreters may lie: on the path, and where pyenv keeps those that its own programs stand for there. */
function candidates(): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const named = folders.flatMap((folder) =>
    listed(folder)
      .filter((name) => /^python3(\.\d+)?$/.test(name))
      .map((name) => join(folder, name)),
  );
  const kept = folders
    .filter((folder) => basename(folder) === 'shims')
    .map((folder) => join(dirname(folder), 'versions'));
  return [
    ...named,
    ...kept.flatMap((folder) => listed(folder).map((name) => join(folder, name, 'bin/python3'))),
  ];
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The interpreters that the client is for and that can make environments, oldest first, one of each version. */
function interpreters(): Interpreter[] {
  const found = new Map<number, Interpreter>();
  for (const candidate of new Set(candidates())) {
    try {
      const said = execFileSync(candidate, ['-c', ASK], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [path = '', major, minor] = said.trim().split(' ');
      if (Number(major) === 3 && Number(minor) >= 9 && !found.has(Number(minor))) {
        found.set(Number(minor), { path, version: `${major}.${minor}` });
      }
    } catch {
      // One without venv, or a name that leads nowhere.
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([, interpreter]) => interpreter);
}

const all = interpreters();

/** The oldest and the newest Python at hand; where there is only one, that. */
export const PYTHONS = [...new Set([all.at(0), all.at(-1)])].filter((one) => one !== undefined);

/** Options of specifications that need an interpreter with pip. */
export const needsPython = lacking(
  'python3',
  all.length > 0
    ? null
    : 'there is no Python 3.9 or newer with venv on the path (Debian: apt-get install python3-venv)',
);

/** Options of specifications that need modules in the environment of `spec/nirs4all/setup.sh`. */
export function needsModules(need: string, ...modules: string[]) {
  const look = `import importlib.util as u; print(*(n for n in '${modules.join(' ')}'.split() if not u.find_spec(n)))`;
  try {
    const lacks = execFileSync(PYTHON, ['-c', look], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    return lacking(
      need,
      lacks === '' ? null : `${PYTHON} lacks ${lacks}; spec/nirs4all/setup.sh installs it`,
    );
  } catch {
    return lacking(need, `${PYTHON} cannot be started; spec/nirs4all/setup.sh makes it`);
  }
}

/** What the environment of a program of Python holds beside what is given. */
const CLEAN = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', LANG: 'C.UTF-8' };

/** Runs a program of Python to its end, or kills it long after any test needs it. */
export async function python(
  path: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const options = { env: { ...CLEAN, ...env }, timeout: 300_000, maxBuffer: 64 * 1024 * 1024 };
  return run(path, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr, message }) => ({
      code: typeof code === 'number' ? code : -1,
      stdout: stdout ?? '',
      stderr: stderr || message,
    }),
  );
}

/** The interpreter of a new environment, with pip and nothing else. */
export async function environment(t: TestContext, base: string): Promise<string> {
  const folder = join(await temporaryDirectory(t), 'venv');
  await run(base, ['-m', 'venv', folder]);
  return join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
}

/** `pip install`, with no index to ask. */
export const pip = (path: string, args: string[]): Promise<Outcome> =>
  python(path, ['-m', 'pip', 'install', '--no-index', '--disable-pip-version-check', '--no-input', ...args]);
