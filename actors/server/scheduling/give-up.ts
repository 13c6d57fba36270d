import { cancelAhead } from '../jobs/bulk-command.ts';
import type { Turn } from '../turn/turn.ts';
import { whyHopeless } from './eligibility.ts';
import type { Exclusion } from './exclusions.ts';

/** Tasks that fail in one turn: what more there are must not keep the others waiting. */
const SLICE = 250;

/**
 * Fails the queued tasks for which no live worker is left (docs/semantics.md#faults-and-attempts). It is looked at
 * whenever a worker falls away or says what it lacks; what remains after a slice is looked at anew in the next turn.
 * @returns whether something remains
 */
export async function giveUp(turn: Turn): Promise<boolean> {
  const { core } = turn;
  if (!turn.reviewWaiting) return false;
  turn.reviewWaiting = false;
  const doomed: [seq: number, exclusion: Exclusion][] = [];
  for (const exclusion of core.queue.exclusions.all()) {
    if (doomed.length >= SLICE) break;
    if (whyHopeless(core, exclusion, '') === undefined) continue;
    for (const seq of exclusion.tasks) if (doomed.push([seq, exclusion]) >= SLICE) break;
  }
  if (doomed.length === 0) return false;
  const tasks = await core.directory.fetchQueued(
    turn.references,
    doomed.map(([seq]) => seq),
  );
  await core.directory.fetchJobs(turn.references, new Set([...tasks.values()].map(({ row }) => row.job_id)));
  let ended = 0;
  for (const [seq, exclusion] of doomed) {
    const task = tasks.get(seq);
    if (task?.row.status !== 'queued') continue;
    const error = whyHopeless(core, exclusion, task.row.error);
    if (error === undefined) continue;
    // What is being cancelled ends cancelled.
    if (cancelAhead(turn, task) || turn.tellTask(task, { type: 'GIVE_UP', error })) ended++;
  }
  return doomed.length >= SLICE && ended > 0;
}
