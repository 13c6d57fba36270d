import { setImmediate } from 'node:timers/promises';
import { OTHER } from '../../../gateway/metrics/known.ts';
import { inWords } from '../../../machines/matching/matching.ts';
import { isHeld } from '../../../machines/task/task.ts';
import type { Core } from '../core.ts';
import type { PauseScope } from '../scheduling/gates.ts';
import { requirementOf } from '../scheduling/lanes.ts';
import { sql } from '../store/sql.ts';
import { amongNumbers } from '../store/sql-words.ts';

/** Requirements that are told apart. */
const MOST = 20;
/** Characters of a requirement in words; those that are alike up to there are told together. */
const LONGEST = 200;
/** Keys of the queue that are looked at without a break. */
const AT_ONCE = 5000;

export type QueueSource = Pick<Core, 'counters' | 'directory' | 'queue' | 'store' | 'clock' | 'longPolls'>;

/** Tasks of one status that require the same. */
interface Group {
  count: number;
  /** The number of the one that is first in line. */
  first: number;
  /** When the oldest came into the status, where that is in memory; seconds since the epoch. */
  since: number;
}

/** Groups by requirement. */
type Groups = Map<number, Group>;

export interface ToldGroup {
  status: string;
  requirement: string;
  count: number;
  /** When the first in line came into the status; null where that is not known. */
  since: number | null;
}

/** The tasks that have not ended, by status and requirement: of what is queued the index is read, never the tasks. */
export async function queueGroups(core: QueueSource): Promise<ToldGroup[]> {
  const byStatus = { queued: await queued(core), ...held(core) };
  const { requirements } = core.queue;
  // Whoever requires it: a requirement has a number for each owner and type.
  const sizes = new Map<string, { count: number; ids: Set<number> }>();
  for (const groups of Object.values(byStatus)) {
    for (const [id, { count }] of groups) {
      const alike = sizes.get(requirements.signature(id)) ?? { count: 0, ids: new Set() };
      sizes.set(requirements.signature(id), alike);
      alike.count += count;
      alike.ids.add(id);
    }
  }
  const largest = [...sizes.values()].sort((a, b) => b.count - a.count).slice(0, MOST);
  const words = new Map(
    largest.flatMap(({ ids }) =>
      [...ids].map((id) => [id, inWords(requirements.asked(id)).slice(0, LONGEST)] as const),
    ),
  );
  const told = Object.entries(byStatus).flatMap(([status, groups]) =>
    [...inWordsOf(groups, words)].map(([requirement, group]) => ({ status, requirement, group })),
  );
  const times = await timesOf(
    core,
    told.map(({ group }) => group.first),
  );
  return told.map(({ status, requirement, group: { count, since, first } }) => ({
    ...{ status, requirement, count },
    since: since < Infinity ? since : (times.get(first) ?? null),
  }));
}

async function queued({ queue }: QueueSource): Promise<Groups> {
  const { index, backoffs } = queue;
  const groups: Groups = new Map();
  const idOf = (key: number) => requirementOf(queue.plainKey(key));
  let looked = 0;
  for (const { key, size, first } of index.all()) {
    if (++looked % AT_ONCE === 0) await setImmediate();
    if (size > 0) add(groups, idOf(key), { count: size, first: first ?? Infinity, since: Infinity });
  }
  for (const { key, seq } of backoffs.all())
    add(groups, idOf(key), { count: 1, first: seq, since: Infinity });
  return groups;
}

/** How many queued tasks wait behind each pause; those that wait after a failure too. */
export async function pausedTasks({ queue }: QueueSource): Promise<{ scope: PauseScope; count: number }[]> {
  const pauses = queue.gates.settledPauses();
  if (pauses.length === 0) return [];
  const counts = pauses.map(() => 0);
  const add = (key: number, count: number) => {
    const { owner, type } = queue.laneOf(key);
    for (const [i, { kind, name }] of pauses.entries())
      if (kind === 'all' || name === (kind === 'owner' ? owner : type)) counts[i] = (counts[i] ?? 0) + count;
  };
  let looked = 0;
  for (const { key, size } of queue.index.all()) {
    if (++looked % AT_ONCE === 0) await setImmediate();
    if (size > 0) add(key, size);
  }
  for (const { key } of queue.backoffs.all()) add(key, 1);
  return pauses.map((scope, i) => ({ scope, count: counts[i] ?? 0 }));
}

function held({ directory }: QueueSource): { leased: Groups; running: Groups } {
  const found = { leased: new Map() as Groups, running: new Map() as Groups };
  for (const { committed } of directory.tasks.values()) {
    if (!committed || !isHeld(committed)) continue;
    const { status, requirement_id, seq, updated_at, started_at } = committed;
    const since = (status === 'running' ? started_at : null) ?? updated_at;
    add(found[status as 'leased' | 'running'], requirement_id, { count: 1, first: seq, since });
  }
  return found;
}

function add<Key>(groups: Map<Key, Group>, key: Key, { count, first, since }: Group): void {
  const group = groups.get(key);
  if (!group) groups.set(key, { count, first, since });
  else {
    group.count += count;
    group.first = Math.min(group.first, first);
    group.since = Math.min(group.since, since);
  }
}

function inWordsOf(groups: Groups, words: ReadonlyMap<number, string>): Map<string, Group> {
  const told = new Map<string, Group>();
  for (const [id, group] of groups) add(told, words.get(id) ?? OTHER, group);
  return told;
}

/** When queued tasks came there, by their numbers. */
async function timesOf({ store }: QueueSource, seqs: readonly number[]): Promise<Map<number, number>> {
  const rows = await store.queries.all<{ seq: number; updated_at: number }[]>(
    sql`SELECT seq, updated_at FROM tasks WHERE status = 'queued' AND seq ${amongNumbers()}`,
    JSON.stringify(seqs.filter(Number.isFinite)),
  );
  return new Map(rows.map(({ seq, updated_at }) => [seq, updated_at]));
}
