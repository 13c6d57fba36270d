// Asks the registry for known faults of the packages: `npm run audit`. Needs the network, so it is no test.
import { spawnSync } from 'node:child_process';
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

/** 0: clean; 1: something nobody has explained; 2: the registry gave no report. */
function main(): number {
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

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main();
