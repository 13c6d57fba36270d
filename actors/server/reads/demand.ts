import { setImmediate } from 'node:timers/promises';
import { inWords } from '../../../machines/matching/matching.ts';
import type { DemandGroup, DemandView } from '../../../machines/schema/demand.ts';
import type { Requirements } from '../../../machines/schema/job.ts';
import type { Core } from '../core.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import type { Bucket } from '../scheduling/bucket.ts';
import { hasTimeFor, isEnding } from '../scheduling/ends.ts';
import { requirementOf } from '../scheduling/lanes.ts';
import { kindOf } from '../scheduling/worker-kind.ts';

/** Groups that are told. */
const MOST = 100;
/** Types of jobs that a group tells. */
const MOST_TYPES = 10;
/** Characters of a requirement in words. */
const LONGEST = 1_000;
/** Entries of the index, or tasks that are held, that are looked at without a break. */
const AT_ONCE = 5_000;

export type DemandSource = Pick<Core, 'queue' | 'directory' | 'clock'>;

type Queued = Pick<Bucket, 'key' | 'size' | 'first' | 'priority'>;

/** Tasks under one key and priority, as many as would be leased now. */
interface Wanted {
  requirement: number;
  slots: number;
  /** That each is expected to take; null where that is not known. */
  seconds: number | null;
}

interface Group {
  /** The numbers of the requirement, one for each owner and type. */
  ids: Set<number>;
  slots: number;
  seconds: number | null;
}

/**
 * How many slots are wanted by what they are to have, and what there is for it. It reads the index of the queue, where
 * tasks that ask the same are one entry, and never the tasks; a turn that goes on may be in it or not.
 */
export async function demandOf(core: DemandSource): Promise<DemandView> {
  const { wanted, held_back } = await wantedNow(core);
  const groups = grouped(core, wanted);
  const told = groups.slice(0, MOST);
  const held = await heldBy(core);
  const kinds = workersByKind(core);
  return {
    groups: told.map((group) => describe(core, group, held, kinds)),
    groups_left_out: groups.length - told.length,
    slots_wanted: wanted.reduce((sum, { slots }) => sum + slots, 0),
    held_back,
  };
}

/** What would be leased now, in the order in which it is served, and how much is not, by why. */
async function wantedNow({ queue }: DemandSource) {
  const entries: Queued[] = [];
  let looked = 0;
  for (const entry of queue.index.all()) {
    if (++looked % AT_ONCE === 0) await setImmediate();
    if (entry.size > 0) entries.push(entry);
  }
  entries.sort((a, b) => b.priority - a.priority || (a.first ?? 0) - (b.first ?? 0));
  const held_back = { paused: 0, owner_limit: 0, backoff: queue.backoffs.size };
  const left = new Map<string, number>();
  const wanted: Wanted[] = [];
  for (const { key, size } of entries) {
    const lane = queue.laneOf(key);
    if (queue.gates.isPausedFor(lane)) {
      held_back.paused += size;
      continue;
    }
    const room = left.get(lane.owner) ?? queue.gates.roomFor(lane);
    const slots = Math.min(size, room);
    left.set(lane.owner, room - slots);
    held_back.owner_limit += size - slots;
    const seconds = queue.secondsOf(key);
    if (slots > 0) wanted.push({ requirement: requirementOf(queue.plainKey(key)), slots, seconds });
  }
  return { wanted, held_back };
}

/** Whoever asks it: a requirement has a number for each owner and type. */
function grouped({ queue: { requirements } }: DemandSource, wanted: readonly Wanted[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { requirement, slots, seconds } of wanted) {
    const key = `${seconds} ${requirements.signature(requirement)}`;
    const group = groups.get(key) ?? { ids: new Set(), slots: 0, seconds };
    groups.set(key, group);
    group.ids.add(requirement);
    group.slots += slots;
  }
  return [...groups.values()];
}

/** How many tasks are with workers, by the signature of what they ask. */
async function heldBy({ directory, queue }: DemandSource): Promise<Map<string, number>> {
  const held = new Map<string, number>();
  let looked = 0;
  for (const worker of directory.workers.values()) {
    for (const task of worker.held) {
      if (++looked % AT_ONCE === 0) await setImmediate();
      const signature = queue.requirements.signature(task.row.requirement_id);
      held.set(signature, (held.get(signature) ?? 0) + 1);
    }
  }
  return held;
}

/** Workers that declared the same; of those that have an end, each by itself. */
interface Kind {
  /** One of them. */
  worker: WorkerCell;
  workers: number;
  total: number;
  free: number;
}

/** Those that are given tasks. */
function workersByKind({ directory, clock }: DemandSource): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const worker of directory.workers.values()) {
    const { committed } = worker;
    if (committed?.status !== 'alive') continue;
    const { suspended, leaving, drained, slots_total, slots_used } = committed;
    if (suspended !== null || leaving !== null || drained !== null) continue;
    const name = isEnding(committed, clock) ? worker.id : kindOf(committed);
    const kind = kinds.get(name) ?? { worker, workers: 0, total: 0, free: 0 };
    kinds.set(name, kind);
    kind.workers++;
    kind.total += slots_total;
    kind.free += Math.max(0, slots_total - slots_used);
  }
  return [...kinds.values()];
}

function describe(
  { queue, clock }: DemandSource,
  { ids, slots, seconds }: Group,
  held: ReadonlyMap<string, number>,
  kinds: readonly Kind[],
): DemandGroup {
  const [id = 0] = ids;
  const { requirements, profiles } = queue;
  const able = kinds.filter(
    ({ worker }) => profiles.isMetBy(id, worker) && hasTimeFor(worker.row, seconds, clock),
  );
  const sum = (of: (kind: Kind) => number) => able.reduce((total, kind) => total + of(kind), 0);
  const types = new Set([...ids].map((each) => requirements.laneOf(each).type));
  return {
    requirement: inWords(requirements.asked(id)).slice(0, LONGEST),
    requirements: JSON.parse(requirements.document(id)) as Requirements,
    seconds,
    slots_wanted: slots,
    tasks_held: held.get(requirements.signature(id)) ?? 0,
    types: [...types].slice(0, MOST_TYPES),
    workers: sum(({ workers }) => workers),
    slots_total: sum(({ total }) => total),
    slots_free: sum(({ free }) => free),
  };
}
