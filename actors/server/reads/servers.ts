import { type Configuration, differences } from '../../../machines/configuration.ts';
import type { ServersView, ServerView } from '../../../machines/schema/servers.ts';
import type { Queries } from '../store/sql.ts';

interface Row extends Omit<ServerView, 'differs'> {
  configuration: string | null;
}

/** Seconds after which a server that said nothing is told to be silent. */
const SILENT = 5;

const LIST = `SELECT s.id, s.place, nullif(s.address, '') AS address, s.version,
    CASE WHEN extract(epoch FROM clock_timestamp()) - s.seen > ${SILENT} THEN 'silent'
         WHEN s.id <> r.server AND EXISTS (SELECT 1 FROM past_reigns p WHERE p.server = s.id) THEN 'silent'
         WHEN s.id = r.server THEN 'leading' ELSE 'standing_by' END AS status,
    CASE WHEN s.id = r.server THEN r.since ELSE s.since END AS since,
    CASE WHEN s.id = r.server THEN r.epoch END AS epoch,
    s.seen AS last_seen_at, s.event AS event_id, s.configuration
  FROM servers s CROSS JOIN reign r ORDER BY (s.id = r.server) DESC, s.since, s.id`;

/** The servers on a store of PostgreSQL, of which one that led before never stands by; the one that leads writes its first row when it begins to. */
export async function serversOn(db: Queries): Promise<ServersView> {
  const last = await db.get<{ id: number }>('SELECT max(id) AS id FROM events');
  const last_event_id = last?.id ?? 0;
  const all = await db.all<Row[]>(LIST);
  const [first] = all;
  const leaders = first === undefined || first.epoch === null ? null : configurationIn(first);
  const servers = all.map((row) => {
    const { configuration: _, ...one } = row;
    const own = configurationIn(row);
    return {
      ...one,
      differs: leaders && own ? differences(own, leaders) : [],
      // What it said a second ago is not what it knows: it made the last one itself.
      event_id: one.status === 'leading' ? last_event_id : one.event_id,
    };
  });
  return { servers, last_event_id };
}

/** Null of a server that has not said it. */
const configurationIn = ({ configuration }: Row): Configuration | null =>
  configuration === null ? null : (JSON.parse(configuration) as Configuration);
