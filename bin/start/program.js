import { readFileSync } from 'node:fs';
import { load } from './load.js';
import { ROOT } from './places.js';

/**
 * Files that a program may have to have open at the same time at least. So many it takes to load its modules, many
 * at once; a server that has started needs about 40, a connection each of its clients, and a file each of its
 * uploads and downloads.
 */
const NEEDED = 128;

/**
 * Starts a program: looks at what has to be there before its modules can be loaded, which therefore is no TypeScript,
 * loads them and runs it.
 * @param {'jqctl' | 'jq-server' | 'jq-worker'} name
 */
export async function start(name) {
  const limit = openFilesLimit();
  if (limit < NEEDED) {
    const what = `at most ${limit} files may be open at the same time here, and ${name} needs ${NEEDED}`;
    process.stderr.write(`error: ${what}; raise the limit (ulimit -n 1024, LimitNOFILE= of systemd)\n`);
    process.exitCode = 2;
    return;
  }
  try {
    const { main } = await load('programs', { makes: true });
    await main(name);
  } catch (error) {
    const missing = missingPackage(error);
    if (missing === undefined) throw error;
    const what = `${name} is not installed as a whole: there is no package '${missing}'`;
    process.stderr.write(`error: ${what}; run npm ci in ${ROOT}\n`);
    process.exitCode = 2;
  }
}

/** The package that a module wants and that is not there; undefined for any other error. */
function missingPackage(error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') return undefined;
  return /^Cannot find package '([^']+)'/.exec(error.message)?.[1];
}

/** The limit of this process, where the system tells it. */
function openFilesLimit() {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
