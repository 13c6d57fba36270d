import type { CopiedObjects } from '../../actors/server/backup/copy-objects.ts';
import { bytes, counted } from './format.ts';
import { plain } from './plain.ts';
import { few, lostLines } from './state-report.ts';

/** What was copied, for people. */
export function copyReport({
  from,
  to,
  named,
  copied,
  copied_bytes,
  lost,
  moved,
  ...all
}: CopiedObjects): string {
  return [
    `from     ${plain(from)}`,
    `to       ${plain(to)}`,
    `objects  ${counted(named, 'object')}, ${bytes(all.bytes)}; ${copied} copied, ${bytes(copied_bytes)}`,
    ...few(lostLines(lost)),
    moved
      ? `The store has its objects there from now on; what lies in ${plain(from)} is not needed any more.`
      : 'A server runs, and goes on with its objects where they were: stop it and run this again, which copies what is new.',
  ].join('\n');
}
