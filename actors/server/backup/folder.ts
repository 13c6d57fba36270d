import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { acquireLock, type Lock } from '../../shared/lock.ts';
import { syncFolder } from '../blobs/durable.ts';
import type { BackupReport } from './report.ts';

/** Named by the moment that it shows; sorted by name they are sorted by time. */
const NAME = /^\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/;
/** Where a backup lies while it is made. */
const UNFINISHED = 'unfinished';
/** Where one lies that is being deleted, so that no half of one has the name of a backup. */
const LEAVING = 'leaving';
/** What is said of a backup, in it. */
export const ABOUT = 'backup.json';

/** @param at seconds since the epoch */
const nameOf = (at: number): string => new Date(Math.round(at * 1000)).toISOString().replaceAll(':', '');

/** The backups in a folder, oldest first; none where there is no such folder. */
export async function backupsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOENT') return [];
    throw fault;
  });
  return names
    .filter((name) => NAME.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** What a backup says of itself; null where it says nothing that can be read. */
export async function aboutBackup(path: string): Promise<BackupReport | null> {
  try {
    return JSON.parse(await readFile(join(path, ABOUT), 'utf8')) as BackupReport;
  } catch {
    return null;
  }
}

/** A folder of backups, taken by this process alone until it is released. */
export class BackupFolder {
  readonly #path: string;
  readonly #lock: Lock;

  private constructor(path: string, lock: Lock) {
    this.#path = path;
    this.#lock = lock;
  }

  /** @throws StartError `backup_in_use` or `backup_unwritable` */
  static async open(path: string): Promise<BackupFolder> {
    const lock = await acquireLock(join(path, 'lock.sqlite')).catch((error: unknown) => {
      if (!(error instanceof StartError)) throw error;
      throw error.code === 'state_in_use'
        ? new StartError('backup_in_use', `another backup is being made in ${path}; wait until it has ended`)
        : new StartError(
            'backup_unwritable',
            `cannot write to ${path}; choose another folder with --to, or grant write access`,
          );
    });
    return new BackupFolder(path, lock);
  }

  /** Where a backup is made; what an earlier one that was broken off has left lies there. */
  get stage(): string {
    return join(this.#path, UNFINISHED);
  }

  /** The newest backup, which has most of the objects of the next one; null when there is none. */
  async newest(): Promise<string | null> {
    return (await backupsIn(this.#path)).at(-1) ?? null;
  }

  /**
   * What has been made is a backup from now on, or was none.
   * @param at the moment that it shows, seconds since the epoch
   * @returns where it lies
   */
  async finish(at: number): Promise<string> {
    const taken = new Set(await backupsIn(this.#path));
    let path = join(this.#path, nameOf(at));
    for (let later = at; taken.has(path); path = join(this.#path, nameOf(later))) later += 0.001;
    await rename(this.stage, path);
    await syncFolder(this.#path);
    return path;
  }

  /** Deletes all but the newest ones, and what is left of one that was being deleted. */
  async prune(keep: number): Promise<number> {
    const leaving = join(this.#path, LEAVING);
    await rm(leaving, { recursive: true, force: true });
    const old = (await backupsIn(this.#path)).slice(0, -keep);
    for (const path of old) {
      await rename(path, leaving);
      await syncFolder(this.#path);
      await rm(leaving, { recursive: true, force: true });
    }
    return old.length;
  }

  async release(): Promise<void> {
    await this.#lock.release();
  }
}
