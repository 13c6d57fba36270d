import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The oldest PostgreSQL that a store may be in. */
const OLDEST = 15;
/** Where Debian has the programs of each version; they are on no path. */
const DEBIAN = '/usr/lib/postgresql';

/** The folder of the programs of the newest PostgreSQL that is here; undefined where there is none. */
export function postgresPrograms(): string | undefined {
  const versions = readdirOf(DEBIAN)
    .map(Number)
    .filter((version) => version >= OLDEST);
  const newest = Math.max(...versions);
  return versions.length > 0 ? join(DEBIAN, `${newest}`, 'bin') : undefined;
}

function readdirOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
