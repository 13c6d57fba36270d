import { type BackupReport, isWhole } from '../../actors/server/backup/report.ts';
import type { BackupsView } from '../../machines/schema/views.ts';
import { ago, bytes, counted, dateTime, duration } from './format.ts';
import type { Colours } from './output.ts';
import { plain } from './plain.ts';
import { few, lostLines, rowLines } from './state-report.ts';

/** What was saved or brought back, for people. @param where the backup, as it is named */
export function backupReport(where: string, report: BackupReport, { green, red }: Colours): string {
  const { store, objects, rows } = report;
  const { named, linked, copied, copied_bytes, elsewhere } = objects;
  const shown = report.made_at === null ? '' : `, as of ${dateTime(report.made_at)}`;
  const kept = linked > 0 ? `, ${linked} of them as before` : '';
  const lines = [
    `backup   ${plain(where)}${shown}`,
    `store    ${bytes(store.bytes)}, version ${store.version}`,
    ...few(rowLines(rows)),
    `objects  ${counted(named, 'object')}, ${bytes(objects.bytes)}${kept}; ${elsewhere === undefined ? `${copied} copied, ${bytes(copied_bytes)}` : `they lie in ${plain(elsewhere)} and are no part of it`}`,
    ...few(lostLines(objects.lost)),
    `in       ${duration(report.seconds)}: ${isWhole(report) ? green('whole') : red('not whole')}`,
  ];
  if (!isWhole(report)) {
    lines.push('', 'What is damaged was so where it was copied from; an older backup may have it whole.');
  }
  return lines.join('\n');
}

/** How the schedule goes, in a line. @param now seconds since the epoch */
export function backupsLine({ last, running, next_at, failure }: BackupsView, now: number): string {
  const newest =
    last === null
      ? 'none yet'
      : `newest ${ago(now - last.made_at)}, ${bytes(last.bytes)}${last.whole ? '' : ', not whole'}`;
  const next = running ? 'one is being made' : `next in ${duration(Math.max(0, next_at - now))}`;
  const failed = failure === null ? '' : `; failed ${ago(now - failure.at)}: ${plain(failure.error)}`;
  return `${newest}; ${next}${failed}`;
}
