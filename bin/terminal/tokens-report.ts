import { ago, dateTime, duration } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { table } from './table.ts';

/** A token as it is listed. Times are in seconds since the epoch. */
export interface TokenRow {
  name: string;
  id: string;
  roles: readonly string[] | null;
  rights: readonly string[];
  created_at: number | null;
  expires_at: number | null;
  last_used_at: number | null;
}

/** The tokens of an auth file, one a line. */
export function tokensReport(rows: readonly TokenRow[], now: number, output: Output): string {
  const columns = [
    { title: 'name', flexible: true },
    { title: 'id' },
    { title: 'may', flexible: true },
    { title: 'made', optional: true },
    { title: 'expires' },
    { title: 'last used' },
  ];
  return table(
    columns,
    rows.map((row) => [
      plain(row.name),
      row.id,
      plain((row.roles ?? row.rights).join(', ')),
      row.created_at === null ? '-' : dateTime(row.created_at),
      expiry(row.expires_at, now, output),
      row.last_used_at === null ? '-' : ago(now - row.last_used_at),
    ]),
    output,
  );
}

function expiry(at: number | null, now: number, { colours }: Output): string {
  if (at === null) return 'never';
  if (at <= now) return colours.red(`expired ${ago(now - at)}`);
  const soon = at - now < 7 * 86_400;
  return (soon ? colours.yellow : String)(`in ${duration(at - now)}`);
}
