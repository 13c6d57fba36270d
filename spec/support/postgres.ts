import { randomBytes } from 'node:crypto';
import { rmSync, statfsSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NOBODY } from './nobody.ts';
import { PostgresNode } from './postgres-node.ts';
import { quietPort } from './program.ts';

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

/** A folder for the files of one or several, in memory if there is room. */
export async function folderOfFiles(folder = placeOfFiles()): Promise<string> {
  const directory = await mkdtemp(join(folder, 'jq-postgres-'));
  if (process.getuid?.() === 0) await chown(directory, NOBODY, NOBODY);
  return directory;
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

/** @param folder where its files go: in memory, if there is room */
export async function postgresCluster(
  settings: Readonly<Record<string, string>> = {},
  folder?: string,
): Promise<PostgresCluster> {
  const directory = await folderOfFiles(folder);
  const node = new PostgresNode({ directory, name: 'data', port: await quietPort(), settings });
  // It is no child of this process, and would stay where that is ended while it is used.
  const endAtOnce = () => {
    node.killIfThere();
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
  };
  process.once('exit', endAtOnce);
  await node.make();
  await node.start();
  return {
    directory,
    port: node.port,
    query: (url, sql) => node.query(url, sql),
    database: () => newDatabase(node),
    async stop() {
      await node.stop();
      process.off('exit', endAtOnce);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The address of a new database. */
export async function newDatabase(node: PostgresNode): Promise<string> {
  const name = `jq_${randomBytes(6).toString('hex')}`;
  await node.createDatabase(name);
  return `postgres://jq@127.0.0.1:${node.port}/${name}`;
}
