import type { Queries } from '../store/sql.ts';

/** Where a check is. Bytes where it counts bytes. */
export type Progress = (step: string, done?: number, total?: number) => void;

export const versionOf = async (db: Queries): Promise<number> =>
  (await db.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0;

/** Reads every page of a store. What SQLite says of them, at most a hundred lines; none where all are whole. */
export async function checkPages(db: Queries, onProgress: Progress = () => {}): Promise<string[]> {
  onProgress('the pages of the store');
  const lines = await db.all<{ integrity_check: string }[]>('PRAGMA integrity_check(100)');
  const said = lines.map((line) => line.integrity_check).flatMap((text) => text.split('\n'));
  return said[0] === 'ok' ? [] : said;
}
