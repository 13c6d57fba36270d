import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';
import { Cgroups } from '../../actors/worker/child/cgroup.ts';
import { postgresPrograms } from './postgres-programs.ts';
import { SmallDisk } from './small-disk.ts';

/** How a specification says that it is left out, and by which the closing summary knows what was missing. */
const LEFT_OUT = /^needs [\w -]+: ./s;

/** Where a program lies, by the names that it goes by; undefined when it is nowhere on the path. */
export function onPath(...names: string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The Chromium for the specifications in a browser. */
export function chromiumPath(): string | undefined {
  const named = [
    process.env.CHROMIUM_PATH ?? '',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ];
  return (
    named.find(isProgram) ?? onPath('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
  );
}

const onThePath =
  (name: string, from = name) =>
  () =>
    onPath(name) ? null : `there is no ${name} on the path (Debian: apt-get install ${from})`;

/** What may be installed or not: null when it is here, else why it is not. */
const INSTALLED = {
  bash: onThePath('bash'),
  fish: onThePath('fish'),
  zsh: onThePath('zsh'),
  python3: onThePath('python3'),
  curl: onThePath('curl'),
  npm: onThePath('npm'),
  nginx: onThePath('nginx', 'nginx-light'),
  caddy: onThePath('caddy'),
  openssl: onThePath('openssl'),
  ps: onThePath('ps', 'procps'),
  prlimit: onThePath('prlimit', 'util-linux'),
  'systemd-analyze': onThePath('systemd-analyze', 'systemd'),
  'systemd-notify': onThePath('systemd-notify', 'systemd'),
  prometheus: onThePath('prometheus'),
  promtool: onThePath('promtool', 'prometheus'),
  chromium: () =>
    chromiumPath()
      ? null
      : 'there is none on the path (Debian: apt-get install chromium), nor in CHROMIUM_PATH',
  slurm: () =>
    ['munged', 'slurmctld', 'slurmd', 'sbatch'].every((name) => onPath(name))
      ? null
      : 'its daemons are not on the path (Debian: apt-get install slurm-wlm munge)',
  'small disk': () => {
    const disk = SmallDisk.mount(1);
    disk?.unmount();
    return disk ? null : 'this process may not mount a file system; root may';
  },
};

/** What the system is like, whatever is installed. */
const OF_THE_SYSTEM = {
  // Debian's programs of it are on no path.
  postgresql: () =>
    postgresPrograms() ? null : 'there is no PostgreSQL 15 or newer (Debian: apt-get install postgresql)',
  proc: () => (isFolder('/proc/self') ? null : 'this system has no /proc'),
  'dev full': () => (existsSync('/dev/full') ? null : 'this system has no /dev/full'),
  'file modes': () => (process.platform === 'win32' ? 'Windows has none' : null),
  'control group': () => {
    const cells = Cgroups.open(`jq-spec-${randomUUID()}`);
    cells?.close();
    return cells ? null : 'this process may make no control group of version 2 below its own';
  },
  IPv6: () =>
    Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1'))
      ? null
      : 'the loopback interface has no ::1',
};

/** What a specification may need beside Node and a shell. */
const NEEDS = { ...INSTALLED, ...OF_THE_SYSTEM } satisfies Record<string, () => string | null>;

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

export type Need = keyof typeof NEEDS;

/** Whether what a machine has of it is the same on every path. */
export const isOfTheSystem = (need: string): boolean => need in OF_THE_SYSTEM;

/** Options of node:test: whether to leave out, and why. */
export type Needing = { skip: string | false };

const asked = new Map<Need, string | null>();

/**
 * Options of a specification, or of a group of them, that needs more than Node and a shell: where that is missing,
 * it is left out with the reason, which the closing summary of `npm test` names. Nothing else leaves out any.
 */
export function requires(...needs: Need[]): Needing {
  for (const need of needs) {
    if (!asked.has(need)) asked.set(need, NEEDS[need]());
    const why = asked.get(need);
    if (why) return lacking(need, why);
  }
  return { skip: false };
}

/** The same for what is found out in another way. */
export const lacking = (need: string, why: string | null): Needing => ({
  skip: why === null ? false : `needs ${need}: ${why.replace(/\s+/g, ' ')}`,
});

/** Whether a reason is one of `requires`, and not one that somebody wrote by hand. */
export const isOfNeed = (reason: string): boolean => LEFT_OUT.test(reason);
