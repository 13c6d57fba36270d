import { ENDED_STATUSES } from '../../../machines/schema/statuses.ts';
import type { Core } from '../core.ts';
import type { JobCell } from '../runtime/actor-cell.ts';
import { type Alike, moveToPriority } from '../scheduling/queueing.ts';
import { sqlWords } from '../store/sql-words.ts';
import { inSteps } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';

/** Tasks that move without a break: a few milliseconds. */
const AT_ONCE = 5000;

/**
 * Gives a job another priority, in a turn of its own: what of it is queued stands there at once, and what comes back,
 * or comes later, does as well. Of its tasks nothing is written, which would take seconds for very many: their rows
 * keep the priority that they were queued with, and the job's counts.
 */
export async function changePriority(turn: Turn, job: JobCell, priority: number): Promise<void> {
  const { id, row } = job;
  const queued = await queuedTasks(turn.core, id);
  const from = row.priority;
  job.amend(turn, { priority, moved: true });
  await inSteps(moving(turn, queued, () => ({ from, to: priority })));
  turn.further.push({ sql: 'UPDATE jobs SET priority = ?, moved = 1 WHERE id = ?', params: [priority, id] });
}

/** The same at a start, when the queue has been read from the rows of the tasks. */
export async function recoverPriorities(turn: Turn): Promise<void> {
  const { store, directory } = turn.core;
  const moved = await store.reader.all<{ id: string }[]>(
    `SELECT id FROM jobs WHERE moved IS NOT NULL AND status NOT IN (${sqlWords(ENDED_STATUSES)})`,
  );
  const ids = moved.map(({ id }) => id);
  await directory.fetchJobs(turn.references, new Set(ids));
  for (const id of ids) {
    const to = turn.job(id).row.priority;
    const elsewhere = (await queuedTasks(turn.core, id)).filter(({ priority }) => priority !== to);
    await inSteps(moving(turn, elsewhere, ({ priority }) => ({ from: priority, to })));
  }
}

type Stored = Alike & { priority: number };

function* moving(turn: Turn, groups: Stored[], way: (group: Stored) => { from: number; to: number }) {
  for (const group of groups)
    for (let i = 0; i < group.seqs.length; i += AT_ONCE) {
      moveToPriority(turn, { ...group, seqs: group.seqs.slice(i, i + AT_ONCE) }, way(group));
      yield;
    }
}

/** What of a job is queued, as it is stored. */
async function queuedTasks({ store }: Pick<Core, 'store'>, job_id: string): Promise<Stored[]> {
  // One text: a hundred thousand rows of their own would keep others waiting.
  const found = await store.reader.get<{ entries: string | null }>(
    `SELECT string_agg(seq || ',' || requirement_id || ',' || priority || ',' || coalesce(CAST(timeout_seconds AS TEXT), 'null'), ',') AS entries
     FROM tasks WHERE job_id = ? AND status = 'queued'`,
    job_id,
  );
  const entries = JSON.parse(`[${found?.entries ?? ''}]`) as (number | null)[];
  const groups = new Map<string, Stored>();
  let group: Stored | undefined;
  for (let i = 0; i < entries.length; i += 4) {
    const [seq, requirement_id, priority] = entries.slice(i, i + 3) as [number, number, number];
    const timeout_seconds = entries[i + 3] ?? null;
    if (group?.requirement_id !== requirement_id || group.priority !== priority) {
      const name = `${requirement_id} ${priority}`;
      // The time limit is that of the job.
      group = groups.get(name) ?? { job_id, requirement_id, timeout_seconds, priority, seqs: [] };
      groups.set(name, group);
    }
    group.seqs.push(seq);
  }
  return [...groups.values()];
}
