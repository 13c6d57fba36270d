import type { LostObject } from '../check/objects.ts';
import type { RowMismatch } from '../check/rows.ts';

/** What was saved, or brought back. Sizes in bytes. */
export interface BackupReport {
  /** The moment that it shows: seconds since the epoch. Of a copy that is no backup, null. */
  made_at: number | null;
  /** Of the program that made it. */
  version: string;
  /** How long it took. */
  seconds: number;
  store: { version: number; bytes: number };
  objects: {
    named: number;
    bytes: number;
    /** Of them, new names of files of the backup before. */
    linked: number;
    copied: number;
    copied_bytes: number;
    /** Where they lie that are no part of the backup; absent where they are. */
    elsewhere?: string;
    /** Whole nowhere, so that their artifacts cannot be downloaded. */
    lost: LostObject[];
  };
  /** Rows that do not fit together, as they do not in what was copied. */
  rows: RowMismatch[];
}

/** Whether all of it is whole. */
export const isWhole = ({ objects, rows }: BackupReport): boolean =>
  objects.lost.length === 0 && rows.length === 0;
