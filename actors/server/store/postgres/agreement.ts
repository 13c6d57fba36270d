import type { Pool } from 'pg';
import { type Configuration, differences } from '../../../../machines/configuration.ts';
import type { Candidate } from '../candidate.ts';

/* Whoever may take over has to be told the same as the one that leads: clients would notice first. */

const NOTE = 'UPDATE servers SET configuration = $2 WHERE id = $1 AND configuration IS DISTINCT FROM $2';
const OF_LEADER = 'SELECT s.configuration FROM servers s JOIN reign r ON r.server = s.id WHERE s.id <> $1';

/** Writes what a server was told beside its row, and compares it with what the one that leads was. */
export async function compareWithLeader(
  pool: Pool,
  server: string,
  candidate: Pick<Candidate, 'configuration' | 'differs'>,
): Promise<void> {
  const own = candidate.configuration();
  await pool.query(NOTE, [server, JSON.stringify(own)]);
  const { rows } = await pool.query<{ configuration: string | null }>(OF_LEADER, [server]);
  const told = rows[0]?.configuration ?? null;
  if (told !== null) candidate.differs(differences(own, JSON.parse(told) as Configuration));
}
