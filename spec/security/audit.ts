// Asks the registry for known faults of the packages: `npm run audit`. Needs the network, so it is no test.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** What `npm audit --json` answers, as far as it is read here. */
export interface AuditReport {
  error?: unknown;
  message?: string;
  vulnerabilities?: Record<string, { severity: string; via: (string | { url?: string; title?: string })[] }>;
}

/** Advisories that do not concern this project, by their address, each with the reason. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {};

/**
 * The advisories in a report that nobody has explained, one line each.
 * @throws Error when the report is none: no answer is not a clean one
 */
export function unexplained(report: AuditReport, exceptions: Readonly<Record<string, string>>): string[] {
  if (report.error !== undefined || !report.vulnerabilities) {
    throw new Error(`the registry gave no report: ${report.message ?? 'no reason told'}`);
  }
  const lines = new Set<string>();
  for (const [name, { severity, via }] of Object.entries(report.vulnerabilities)) {
    for (const advisory of via) {
      // A name alone says that the fault is another package's, which has an entry of its own.
      if (typeof advisory === 'string') continue;
      const { url = 'no address', title = 'no title' } = advisory;
      if (!Object.hasOwn(exceptions, url)) lines.add(`${severity} ${name}: ${title} (${url})`);
    }
  }
  return [...lines].sort();
}

/** The binaries that the installed copy of uWebSockets.js ships, one line each with its SHA-256. */
export async function shippedBinaries(folder: URL): Promise<string[]> {
  if (!existsSync(folder)) return ['uWebSockets.js is not installed'];
  const { name, version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
  const binaries = (await readdir(folder)).filter((file) => file.endsWith('.node')).sort();
  const lines = await Promise.all(
    binaries.map(async (file) => {
      const hash = createHash('sha256').update(await readFile(new URL(file, folder)));
      return `  ${hash.digest('hex')}  ${file}`;
    }),
  );
  return [`uWebSockets.js is ${name}@${version}, which ships ${binaries.length} binaries:`, ...lines];
}

/** 0: clean; 1: something nobody has explained; 2: the registry gave no report. */
async function main(): Promise<number> {
  const library = new URL('../../node_modules/uWebSockets.js/', import.meta.url);
  for (const line of await shippedBinaries(library)) console.log(line);
  const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8' });
  try {
    const found = unexplained(JSON.parse(stdout) as AuditReport, EXCEPTIONS);
    for (const line of found) console.log(line);
    console.log(
      found.length === 0 ? 'no advisory without an explanation' : `${found.length} without an explanation`,
    );
    return found.length === 0 ? 0 : 1;
  } catch (fault) {
    console.error((fault as Error).message);
    return 2;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main();
