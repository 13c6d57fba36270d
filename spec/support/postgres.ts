import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, statfsSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NOBODY } from './nobody.ts';

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

/** Where Linux keeps files in memory, and bytes that have to be free there. */
const MEMORY = { folder: '/dev/shm', bytes: 4 * 2 ** 30 };

/**
 * Where the files of one go: into memory, where there is room. It waits for the disk as it always does, which is quick there. What
 * a file system keeps outlives the processes that are killed, in memory or not, and nobody here takes the power away.
 */
function placeOfFiles(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY.folder);
    if (bavail * bsize >= MEMORY.bytes) return MEMORY.folder;
  } catch {
    // There is no such place here.
  }
  return tmpdir();
}

/** A PostgreSQL of its own, with as many databases as are asked for. */
export interface PostgresCluster {
  /** The address of a new database, as `--store` takes it. */
  database(): Promise<string>;
  /** What is asked on the command line of its own user, in one of its databases. */
  query(url: string, sql: string): Promise<string>;
  readonly directory: string;
  readonly port: number;
  /** Stops it as its owner does, and takes its files away. */
  stop(): Promise<void>;
}

/**
 * Starts one; PostgreSQL does not run as root, who lends it to nobody.
 * @param folder where its files go: in memory, if there is room
 */
export async function postgresCluster(
  settings: Readonly<Record<string, string>> = {},
  folder = placeOfFiles(),
): Promise<PostgresCluster> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('there is no PostgreSQL');
  const directory = await mkdtemp(join(folder, 'jq-postgres-'));
  if (process.getuid?.() === 0) await chown(directory, NOBODY, NOBODY);
  const data = join(directory, 'data');
  const run = (program: string, ...args: string[]) => runAs(join(programs, program), args, directory);
  await run('initdb', '-D', data, '-U', 'jq', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
  const port = await freePort();
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory,
    shared_buffers: '32MB',
    ...settings,
  };
  const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
  const log = join(directory, 'log');
  await run('pg_ctl', '-D', data, '-w', '-l', log, '-o', `-p ${port} ${options.join(' ')}`, 'start').catch(
    async (fault: Error) => {
      throw new Error(`${fault.message}: ${await readFile(log, 'utf8').catch(() => 'no log')}`);
    },
  );
  const query = (url: string, sql: string) =>
    run('psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', sql);
  return {
    directory,
    port,
    query,
    async database() {
      const name = `jq_${randomBytes(6).toString('hex')}`;
      await run('createdb', '-h', directory, '-p', `${port}`, '-U', 'jq', name);
      return `postgres://jq@127.0.0.1:${port}/${name}`;
    },
    async stop() {
      await run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** What a program prints. Its output goes nowhere where others are left behind by it, which would hold a pipe open. */
async function runAs(program: string, args: readonly string[], cwd: string): Promise<string> {
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const leaves = program.endsWith('pg_ctl');
  const child = spawn(program, args, {
    ...identity,
    cwd,
    stdio: ['ignore', leaves ? 'ignore' : 'pipe', leaves ? 'ignore' : 'pipe'],
  });
  let told = '';
  let complained = '';
  child.stdout?.on('data', (chunk) => {
    told += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    complained += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complained}`);
  return told;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
