import { BULK_STATES } from '../../machines/job/steps.ts';
import { peerOf } from '../../machines/protocol/peers.ts';
import type { Core } from './core.ts';
import { beginLease, beginTimeout, deadAt, takesBackAt } from './handlers/liveness.ts';
import { inNextTurn } from './jobs/bulk-command.ts';
import { recoverPriorities } from './jobs/change-priority.ts';
import { enqueue, priorityOf } from './scheduling/queueing.ts';
import { type KeyOfQueued, keysOfQueued, recoverTimes } from './scheduling/recover-keys.ts';
import { differing, sql } from './store/sql.ts';
import { GREATEST, HELD, member, QUEUED, sqlWords } from './store/sql-words.ts';
import { CHOICES, JOBS, PAUSES, REQUIREMENTS, TASKS, WORKERS } from './store/tables.ts';
import { FOR_GOOD } from './turn/journal.ts';
import type { Turn } from './turn/turn.ts';

/** Rows read at a time while the queue's index is rebuilt. */
const PAGE = 50_000;

/**
 * Replays the store into memory: workers that live or have tasks, held tasks with their jobs, the index of queued
 * tasks, the counters. Every lease and every worker gets a full period anew, for nobody could be heard while the server
 * was away. It is a turn that writes nothing, with the same rules as any other.
 */
export async function recover(turn: Turn): Promise<void> {
  const { core } = turn;
  for (const row of await core.store.load(REQUIREMENTS, 'true ORDER BY id'))
    core.queue.requirements.learn(row);
  for (const row of await core.store.load(PAUSES, 'true ORDER BY at, kind, name'))
    core.queue.gates.pause(FOR_GOOD, row);
  core.queue.gates.settle();
  await recoverWorkers(turn);
  await recoverHeld(turn);
  await recoverQueue(core);
  await recoverPriorities(turn);
  await recoverSpecial(turn);
  await recoverBulkCommands(turn);
  await recoverSequences(core);
  await recoverPeers(core);
  await core.counters.recover(core.store, core.clock.now());
  turn.accept();
  core.directory.release(turn.references);
}

async function recoverWorkers(turn: Turn): Promise<void> {
  const { store, directory } = turn.core;
  for (const row of await store.load(
    WORKERS,
    "status = 'alive' OR slots_used > 0 ORDER BY registered_at, id",
  )) {
    const worker = directory.addWorker(turn.references, row, true);
    if (row.status === 'alive') worker.update(turn, { deadAt: deadAt(turn) });
    worker.update(turn, { takesBackAt: takesBackAt(turn, row.drained) });
  }
}

async function recoverHeld(turn: Turn): Promise<void> {
  const { store, directory, queue } = turn.core;
  const rows = await store.load(TASKS, sql`${HELD} ORDER BY seq`);
  for (const row of rows) directory.addTask(turn.references, row, true);
  await directory.fetch(turn.references, { tasks: rows.map(({ id }) => id) });
  for (const { id, status, worker_id } of rows) {
    const task = directory.task(id);
    beginLease(turn, task, { worker_id: worker_id as string });
    queue.gates.began(FOR_GOOD, queue.requirements.laneOf(task.row.requirement_id));
    if (status === 'running') beginTimeout(turn, task);
  }
}

/** Each priority in one scan over an index that covers it, in pages so that memory stays flat. */
async function recoverQueue(core: Pick<Core, 'store' | 'queue'>): Promise<void> {
  const { reader } = core.store;
  await recoverTimes(core);
  const keyOf = await keysOfQueued(core);
  const next = sql`SELECT MAX(priority) AS priority FROM tasks WHERE ${QUEUED}`;
  let found = await reader.get<{ priority: number | null }>(next);
  while (found && found.priority !== null) {
    await recoverPriority(core, found.priority, keyOf);
    found = await reader.get<{ priority: number | null }>(sql`${next} AND priority < ?`, found.priority);
  }
}

async function recoverPriority(
  { store, queue }: Pick<Core, 'store' | 'queue'>,
  priority: number,
  keyOf: KeyOfQueued,
): Promise<void> {
  for (let after = 0, full = true; full; ) {
    // One text a page: a million rows of their own would take seconds to become objects.
    const page = await store.reader.get<{ entries: string | null }>(
      sql`SELECT string_agg(seq || ',' || requirement_id, ',') AS entries FROM (
         SELECT seq, requirement_id FROM tasks
         WHERE ${QUEUED} AND priority = ? AND seq > ? ORDER BY seq LIMIT ${PAGE}) AS page`,
      priority,
      after,
    );
    const entries = JSON.parse(`[${page?.entries ?? ''}]`) as number[];
    for (let i = 0; i < entries.length; i += 2) {
      after = entries[i] as number;
      queue.index.add(FOR_GOOD, keyOf(after, entries[i + 1] as number), priority, after);
    }
    full = entries.length === 2 * PAGE;
  }
}

/** Which peers were noted, their events tell; the index of these events is small. */
async function recoverPeers({ store, peers }: Pick<Core, 'store' | 'peers'>): Promise<void> {
  const noted = await store.reader.all<{ role: string | null; version: string | null }[]>(
    sql`SELECT ${member('data', 'role')} AS role, substr(${member('data', 'version')}, 1, 100) AS version FROM events
     WHERE type = 'version_divergence' ORDER BY id LIMIT 1000`,
  );
  for (const { role, version } of noted) {
    const peer = peerOf(role ?? undefined, version ?? '');
    if (peer) peers.add(FOR_GOOD, peer);
  }
}

/** The few that wait after a failure, or that avoid workers. The others were read from an index that knows no more. */
async function recoverSpecial(turn: Turn): Promise<void> {
  const { store, queue, directory } = turn.core;
  const special = sql`${QUEUED} AND (avoids IS NOT NULL OR not_before IS NOT NULL) ORDER BY seq`;
  const rows = await store.load(TASKS, special);
  await directory.fetchJobs(turn.references, new Set(rows.map(({ job_id }) => job_id)));
  for (const row of rows) {
    const key = queue.keyOf(row, directory.job(row.job_id).row);
    queue.index.remove(FOR_GOOD, key, priorityOf(turn, row.job_id), row.seq);
    enqueue(turn, row);
  }
}

const IN_BULK = differing(`state IN (${sqlWords(BULK_STATES)})`, 'is_telling');

/** Bulk commands that had not reached all tasks of their jobs. */
async function recoverBulkCommands(turn: Turn): Promise<void> {
  const { store, directory, queue } = turn.core;
  for (const row of await store.load(JOBS, sql`${IN_BULK} ORDER BY seq`)) {
    const job = directory.jobs.get(row.id) ?? directory.addJob(turn.references, row, true);
    const span = await directory.spanOf(row.id);
    queue.index.withhold(FOR_GOOD, span);
    const [choice] = row.state === 'requeuing' ? await store.load(CHOICES, 'job_id = ?', row.id) : [];
    inNextTurn(turn, job, { span, chosen: choice?.chosen ?? null });
  }
}

/** SQL: the last number that was given, where rows that had it may be gone. */
const given = (name: string): string => `coalesce((SELECT last FROM numbers WHERE name = '${name}'), 0)`;

async function recoverSequences({ store, sequences }: Pick<Core, 'store' | 'sequences'>): Promise<void> {
  const largest = await store.reader.get<Record<'job' | 'task' | 'event' | 'created', number | null>>(
    sql`SELECT ${GREATEST}(coalesce((SELECT MAX(seq) FROM jobs), 0), ${given('job')}) AS job,
            ${GREATEST}(coalesce((SELECT MAX(seq) FROM tasks), 0), ${given('task')},
                coalesce((SELECT MAX(last_seq) FROM jobs WHERE last_seq IS NOT NULL), 0)) AS task,
            (SELECT MAX(id) FROM events) AS event,
            ${GREATEST}(coalesce((SELECT MAX(created_at) FROM jobs), 0), ${given('created')}) AS created`,
  );
  sequences.job = (largest?.job ?? 0) + 1;
  sequences.task = (largest?.task ?? 0) + 1;
  sequences.event = (largest?.event ?? 0) + 1;
  sequences.lastCreatedAt = largest?.created ?? 0;
}
