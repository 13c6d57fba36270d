import type { Client } from 'pg';
import type { Leader } from '../../../../machines/reign.ts';
import { PLACE } from '../../../shared/place.ts';
import { StoreFault } from '../fault.ts';

/* The session that leads has an epoch, which every commit carries: a reign, by its number. */

/** Another server has the store: what this one writes is refused for good. */
export class EpochOver extends StoreFault {
  /** The last turn of the epoch that was lost; null where it is still the present one, or was never there. */
  readonly lastTurn: number | null;
  /** Who has it now; null where that is not known. */
  readonly leader: Leader | null;

  constructor(leader: Leader | null = null, lastTurn: number | null = null) {
    const who = leader && ` (${leader.place})`;
    super(`another server has taken the store over${who ?? ''}; this one cannot write any more`);
    this.leader = leader;
    this.lastTurn = lastTurn;
  }
}

interface ReignRow {
  epoch: number;
  turn: number;
  server: string;
  place: string;
}

/**
 * Begins an epoch, after which nobody with an earlier one can write.
 * @param server what this start of the program is known by
 * @param before the epoch that it had; null at its start, when whoever had one has lost it
 * @returns the epoch, and the last turn of the one that it had
 * @throws EpochOver
 */
export async function beginEpoch(
  client: Client,
  server: string,
  before: number | null,
): Promise<{ epoch: number; lastTurn: number | null }> {
  await client.query('BEGIN');
  try {
    // Waits for a turn that is just being written.
    const reign = await reignOf(client, 'FOR UPDATE');
    if (before !== null) await assertOwn(client, reign, server, before);
    const now = Date.now() / 1000;
    await client.query(
      'INSERT INTO past_reigns (epoch, turn, since, until, server, place) SELECT epoch, turn, since, $1, server, place FROM reign',
      [now],
    );
    await client.query('UPDATE reign SET epoch = epoch + 1, turn = 0, since = $1, server = $2, place = $3', [
      now,
      server,
      PLACE,
    ]);
    const lastTurn = before === null ? null : await lastTurnOf(client, before);
    await client.query('COMMIT');
    return { epoch: reign.epoch + 1, lastTurn };
  } catch (fault) {
    await client.query('ROLLBACK').catch(() => {});
    throw fault;
  }
}

/**
 * Whether nobody else has begun an epoch since.
 * @throws EpochOver
 */
export async function assertNotSuperseded(client: Client, server: string, before: number): Promise<void> {
  await assertOwn(client, await reignOf(client), server, before);
}

async function assertOwn(client: Client, reign: ReignRow, server: string, before: number): Promise<void> {
  if (reign.server !== server)
    throw new EpochOver({ place: reign.place, address: null }, await lastTurnOf(client, before));
}

async function reignOf(client: Client, locked = ''): Promise<ReignRow> {
  const { rows } = await client.query<ReignRow>(`SELECT epoch, turn, server, place FROM reign ${locked}`);
  if (rows[0] === undefined)
    throw new StoreFault('the store does not say who writes: its table of reigns is empty');
  return rows[0];
}

/** Of an epoch that has ended. */
async function lastTurnOf(client: Client, epoch: number): Promise<number | null> {
  const { rows } = await client.query<{ turn: number }>('SELECT turn FROM past_reigns WHERE epoch = $1', [
    epoch,
  ]);
  return rows[0]?.turn ?? null;
}
