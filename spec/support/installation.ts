import { spawn } from 'node:child_process';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { heard, type Outcome } from './heard.ts';
import { ROOT } from './program.ts';
import { temporaryDirectory } from './server.ts';

const PARTS = ['bin', 'actors', 'gateway', 'machines', 'examples', 'package.json', 'tsconfig.json'];

export interface InstallationOptions {
  /** The name of its folder. */
  name?: string;
  /** Packages that are not installed. */
  without?: readonly string[];
  /** Packages that are there as copies, so that a specification may change them; the others are links. */
  copied?: readonly string[];
}

/** The programs in a folder of their own, with packages of their own. @returns the folder */
export async function installation(t: TestContext, options: InstallationOptions = {}): Promise<string> {
  const home = join(await temporaryDirectory(t), options.name ?? 'installation');
  await install(home, options);
  return home;
}

/** Installs them in a folder that is not there yet. */
export async function install(home: string, options: InstallationOptions = {}): Promise<void> {
  const { without = [], copied = [] } = options;
  const packages = join(home, 'node_modules');
  await mkdir(packages, { recursive: true });
  for (const part of PARTS) await cp(join(ROOT, part), join(home, part), { recursive: true });
  for (const one of await readdir(join(ROOT, 'node_modules'))) {
    if (without.includes(one)) continue;
    const [from, to] = [join(ROOT, 'node_modules', one), join(packages, one)];
    await (copied.includes(one) ? cp(from, to, { recursive: true }) : symlink(from, to));
  }
}

/** Runs a file of an installation to its end. */
export async function runIn(home: string, file: string, ...args: string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [join(home, file), ...args], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return heard(child).outcome;
}
